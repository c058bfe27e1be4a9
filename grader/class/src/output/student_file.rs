//! Names of files for students, whose names may hold any characters.

/// Hexadecimal digits of the hash: so many that nobody finds a name with the hash of another's.
const DIGITS: usize = 20;

/// A name that is no path, no option and no formula, and differs for different students: what is plain of the name, and a hash
/// where something was left out, or where the name looks as if it ended in one. Case does not count, since some systems do not
/// tell it.
pub fn stem(student: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    let is_plain = student.chars().all(plain)
        && student.starts_with(|c: char| c.is_ascii_alphanumeric())
        && student.len() <= 60
        && !ends_in_a_hash(student);
    if is_plain {
        return student.to_owned();
    }
    let kept: String = student
        .chars()
        .map(|c| if plain(c.to_ascii_lowercase()) { c.to_ascii_lowercase() } else { '_' })
        .take(40)
        .collect();
    let kept = kept.trim_matches(['_', '-']);
    let hash = blake3::hash(student.as_bytes()).to_hex();
    let kept = if kept.is_empty() { "student" } else { kept };
    format!("{kept}-{}", &hash[..DIGITS])
}

fn ends_in_a_hash(name: &str) -> bool {
    let end = name.rsplit_once('-').map(|(_, end)| end);
    end.is_some_and(|end| end.len() == DIGITS && end.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_becomes_a_file_of_its_own() {
        assert_eq!(stem("ada_l-2"), "ada_l-2");
        for name in ["../../etc/passwd", "Ada", "-rf", "", "a/b", "a\\b", "..", "=cmd", "ada.html"]
        {
            let stem = stem(name);
            assert!(stem.starts_with(|c: char| c.is_ascii_alphanumeric()), "{stem}");
            assert!(!stem.contains(['/', '.', '\\']), "{stem}");
        }
        assert_ne!(stem("Ada"), stem("ada"));
        assert_ne!(stem("a/b"), stem("a?b"));
        assert_ne!(stem(&stem("Ada")), stem("Ada"), "who takes the name of another's page");
    }
}
