//! A `JUnit` document: suites of cases, as XML (<https://github.com/testmoapp/junitxml> describes what CI systems read).

use diagnostic::visible;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io::{self, Write};
use std::time::Duration;

/// The cases of one puzzle.
#[derive(Clone, Debug, Default)]
pub struct Suite {
    /// The puzzle's number and title.
    pub name: String,
    /// Names and values that hold for the whole suite.
    pub properties: Vec<(&'static str, String)>,
    /// In the order in which they ran.
    pub cases: Vec<Case>,
}

/// A test and how it ended.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the test.
    pub name: String,
    /// Groups cases of different suites.
    pub classname: Option<String>,
    /// How long it ran, if that was measured.
    pub time: Option<Duration>,
    /// How the test ended.
    pub outcome: Outcome,
    /// What the test printed.
    pub output: String,
}

/// How a case ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The test ended as it should.
    Passed,
    /// The tested code is wrong.
    Failed(Reason),
    /// The test could not be run.
    Error(Reason),
}

/// Why a case did not pass.
#[derive(Clone, Debug)]
pub struct Reason {
    /// The reason in one line.
    pub message: String,
    /// The whole report of the test.
    pub description: Option<String>,
}

/// Writes a document of this name.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(out: impl Write, name: &str, suites: &[Suite]) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 4);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all = suites.iter().flat_map(|suite| &suite.cases);
    let [tests, failures, errors] = counts(all);
    xml.create_element("testsuites")
        .with_attributes([
            ("name", visible(name).as_str()),
            ("tests", &tests),
            ("skipped", "0"),
            ("failures", &failures),
            ("errors", &errors),
        ])
        .write_inner_content(|xml| suites.iter().try_for_each(|suite| write_suite(xml, suite)))?;
    xml.write_indent()
}

/// The numbers of all cases, of failures and of errors.
fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> [String; 3] {
    let mut counts = [0; 3];
    for case in cases {
        counts[0] += 1;
        match case.outcome {
            Outcome::Passed => {}
            Outcome::Failed(_) => counts[1] += 1,
            Outcome::Error(_) => counts[2] += 1,
        }
    }
    counts.map(|count: u32| count.to_string())
}

fn write_suite(xml: &mut Writer<impl Write>, suite: &Suite) -> io::Result<()> {
    let [tests, failures, errors] = counts(suite.cases.iter());
    let element = xml.create_element("testsuite").with_attributes([
        ("name", visible(&suite.name).as_str()),
        ("tests", &tests),
        ("skipped", "0"),
        ("errors", &errors),
        ("failures", &failures),
    ]);
    if suite.properties.is_empty() && suite.cases.is_empty() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|xml| {
        if !suite.properties.is_empty() {
            xml.create_element("properties").write_inner_content(|xml| {
                suite.properties.iter().try_for_each(|(name, value)| {
                    let property = xml.create_element("property");
                    let value = visible(value);
                    property.with_attributes([("name", *name), ("value", &value)]).write_empty()?;
                    Ok(())
                })
            })?;
        }
        suite.cases.iter().try_for_each(|case| write_case(xml, case))
    })?;
    Ok(())
}

fn write_case(xml: &mut Writer<impl Write>, case: &Case) -> io::Result<()> {
    let name = visible(&case.name);
    let mut element = xml.create_element("testcase").with_attribute(("name", name.as_str()));
    if let Some(classname) = &case.classname {
        element = element.with_attribute(("classname", classname.as_str()));
    }
    if let Some(time) = case.time {
        let seconds = format!("{:.3}", time.as_secs_f64());
        element = element.with_attribute(("time", seconds.as_str()));
    }
    if matches!(case.outcome, Outcome::Passed) && case.output.is_empty() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|xml| {
        match &case.outcome {
            Outcome::Passed => {}
            Outcome::Failed(reason) => write_reason(xml, "failure", reason)?,
            Outcome::Error(reason) => write_reason(xml, "error", reason)?,
        }
        if !case.output.is_empty() {
            let output = visible(&case.output);
            xml.create_element("system-out").write_text_content(BytesText::new(&output))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn write_reason(xml: &mut Writer<impl Write>, tag: &str, reason: &Reason) -> io::Result<()> {
    let message = visible(&reason.message);
    let element = xml.create_element(tag).with_attribute(("message", message.as_str()));
    match &reason.description {
        Some(text) => element.write_text_content(BytesText::new(&visible(text)))?,
        None => element.write_empty()?,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_and_cases_become_elements() {
        let case = |name: &str, outcome| Case {
            name: name.into(),
            classname: Some("puzzle_01".into()),
            time: Some(Duration::from_millis(12)),
            outcome,
            output: String::new(),
        };
        let why = |message: &str, description: Option<&str>| Reason {
            message: message.into(),
            description: description.map(str::to_owned),
        };
        let mut loud = case("loud", Outcome::Passed);
        loud.output = "a < b\u{1b}\u{0}\n".into();
        let suite = Suite {
            name: "puzzle 1: \"Sums\" & more".into(),
            properties: vec![("seed", "7".into())],
            cases: vec![
                case("good", Outcome::Passed),
                loud,
                case("bad", Outcome::Failed(why("y: 1 of 5 wrong", Some("all of it\n<here>")))),
                case("not run", Outcome::Error(why("no compiler", None))),
            ],
        };
        let mut text = Vec::new();
        write(&mut text, "grader", &[suite, Suite::default()]).unwrap();
        insta::assert_snapshot!(String::from_utf8(text).unwrap());
    }
}
