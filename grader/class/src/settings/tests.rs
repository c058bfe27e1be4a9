use super::*;

const SMALL: &str = "title = \"C\"\nsecret = \"0123456789abcdef\"\n[[puzzle]]\nnumber = 10\n";

fn parse(text: &str) -> Result<Settings, String> {
    Settings::parse(text, Path::new("class.toml")).map_err(|failure| failure.render(false))
}

#[test]
fn what_is_left_out_has_a_value() {
    let class = parse(SMALL).unwrap();
    assert_eq!((class.backend, class.limits.seconds), (Backend::Vm, 300));
    assert_eq!(class.puzzle(10).unwrap().most(), 1.0);
    let tests = parse(&format!("{SMALL}tests = {{ a = 2, b = 0.5 }}\n")).unwrap();
    assert_eq!(tests.puzzle(10).unwrap().most(), 2.5);
}

#[test]
fn the_example_is_valid() {
    let text = include_str!("../pack/class.toml").replace("@SECRET@", "0123456789abcdef");
    let class = parse(&text).unwrap();
    assert_eq!(class.puzzles.len(), 2);
}

#[test]
fn mistakes_are_shown_with_their_lines() {
    let unknown = parse(&SMALL.replace("number", "nummer")).unwrap_err();
    insta::assert_snapshot!(unknown, @r"
    error: unknown key `nummer`
     --> class.toml:4:1
      |
    4 | nummer = 10
      | ^^^^^^
      |
      = help: did you mean `number`?
    ");
    let short = parse(&SMALL.replace("0123456789abcdef", "abc")).unwrap_err();
    insta::assert_snapshot!(short, @r#"
    error: this secret could be guessed
     --> class.toml:2:10
      |
    2 | secret = "abc"
      |          ^^^^^
      |
      = help: use at least 16 characters, such as those that `openssl rand -hex 16` prints
    "#);
    let zone = parse(&format!("deadline = 2026-12-01T23:59:00\n{SMALL}")).unwrap_err();
    insta::assert_snapshot!(zone, @r"
    error: the deadline needs a date, a time and a time zone
     --> class.toml:1:12
      |
    1 | deadline = 2026-12-01T23:59:00
      |            ^^^^^^^^^^^^^^^^^^^
      |
      = help: write it as 2026-12-01T23:59:00+01:00, with the distance from Greenwich
    ");
    let twice = parse(&format!("{SMALL}[[puzzle]]\nnumber = 10\n")).unwrap_err();
    insta::assert_snapshot!(twice, @r"
    error: puzzle 10 is listed twice
     --> class.toml:5:1
      |
    5 | [[puzzle]]
      | ^^^^^^^^^^
      |
      = help: remove one of the two
    ");
    let much =
        parse(&format!("limits = {{ seconds = 9223372036854775807 }}\n{SMALL}")).unwrap_err();
    insta::assert_snapshot!(much, @r"
    error: the limit seconds is out of range
     --> class.toml:1:10
      |
    1 | limits = { seconds = 9223372036854775807 }
      |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: limits are 1 to 1000000
    ");
    for none in ["limits = { memory_mb = 0 }", "limits = { file_kb = 0 }", "tries = { count = 0 }"]
    {
        assert!(parse(&format!("{none}\n{SMALL}")).is_err(), "{none}");
    }
    for points in ["nan", "inf", "1e7"] {
        let said = parse(&format!("{SMALL}points = {points}\n")).unwrap_err();
        assert!(said.contains("points are 0 to 1000000"), "{said}");
    }
    assert!(parse(&format!("{SMALL}points = -1\n")).unwrap_err().contains("out of range"));
}

proptest::proptest! {
    /// Any answer will do, but a panic.
    #[test]
    fn mutated_settings_are_read(
        edits in proptest::collection::vec((0..9999_usize, 0..9_usize), 1..6),
        cut in 0..9999_usize,
    ) {
        let pieces = ["", "[", "]", "\"", "=", "\n", "-1", "9e999", "[[puzzle]]\n"];
        let mut text = include_str!("../pack/class.toml").replace("@SECRET@", "0123456789abcdef");
        for (place, piece) in edits {
            // The example is ASCII.
            let at = place % text.len();
            text.replace_range(at..(at + place % 7).min(text.len()), pieces[piece]);
        }
        let _ = parse(&text);
        let _ = parse(&text[..cut % text.len()]);
    }
}
