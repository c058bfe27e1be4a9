//! Times of day and calendar dates, as seconds since 1970.

use std::time::{Duration, SystemTime};
use toml::value::{Datetime, Offset};

const DAY: i64 = 86_400;

/// The seconds since 1970 of a date with its time and its distance from Greenwich; `None` if one of the three is missing.
pub fn seconds(at: &Datetime) -> Option<i64> {
    let (date, time, offset) = (at.date?, at.time?, at.offset?);
    let minutes = match offset {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    let days = days(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let second = i64::from(time.second.unwrap_or(0));
    let of_day = i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + second;
    Some(days * DAY + of_day - minutes * 60)
}

/// The days from 1 January 1970 to a date of the Gregorian calendar. Years begin in March here, so that the day that leap years
/// add is their last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date and the time in Greenwich, such as `2026-11-22T19:30:05Z`.
pub fn timestamp(seconds: i64) -> String {
    let (day, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

/// The seconds since 1970 of a time of the system.
pub fn of_system(time: SystemTime) -> i64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_seconds_agree() {
        for (text, at) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-11-22T19:30:05Z", 1_795_375_805),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            let date: Datetime = text.parse().unwrap();
            assert_eq!(seconds(&date), Some(at), "{text}");
            assert_eq!(timestamp(at), text);
        }
        let here: Datetime = "2026-11-22T20:30:05+01:00".parse().unwrap();
        assert_eq!(seconds(&here), Some(1_795_375_805));
        assert_eq!(seconds(&"2026-11-22T20:30:05".parse().unwrap()), None);
    }
}
