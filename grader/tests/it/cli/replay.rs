//! `grader replay`: a recorded block as a page.

use super::{command, output, root};
use serde_json::Value;

/// The page's data.
fn document(page: &str) -> Value {
    let (_, rest) = page.split_once("<script id=\"document\" type=\"application/json\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_wrong_kernel_is_replayed_with_its_variables_and_terms() {
    let solution = std::fs::read_to_string(root().join("solutions/10_conv_backward_input.cu"));
    let wrong = solution.unwrap().replace("int oh = h - fh;", "int oh = h + fh; // </script>");
    let dir = tempfile::tempdir().unwrap();
    let (file, page) = (dir.path().join("kernel.cu"), dir.path().join("page.html"));
    std::fs::write(&file, wrong).unwrap();
    let [file, page] = [&file, &page].map(|path| path.to_str().unwrap());
    let test = "conv_backward_input_tiny";
    let out = output(&mut command(&[
        "replay",
        "10",
        "--file",
        file,
        "--test",
        test,
        "--no-open",
        "--output",
        page,
    ]));
    assert_eq!((out.code, out.stdout.contains("page.html")), (0, true), "{}", out.stderr);

    let page = std::fs::read_to_string(page).unwrap();
    assert!(!page.contains("{{") && !page.contains("http"), "it needs no other file");
    let data = document(&page);
    assert_eq!(data["block_size"], serde_json::json!([256, 1, 1]));
    let steps = data["pc"].as_array().unwrap().len();
    assert!((500..5_000).contains(&steps), "{steps}");
    let names: Vec<&str> =
        data["variables"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    for name in ["grad_output", "H_out", "oh", "ow", "sum"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    let memories = data["memories"].as_array().unwrap();
    let output = memories.iter().find(|memory| memory["role"] == "output").unwrap();
    assert_eq!(output["name"], "grad(input)");
    assert_eq!(output["wrong"].as_array().unwrap().len(), 20);
    let terms = data["element"]["terms"].as_array().unwrap();
    assert!(terms.iter().any(|term| term["kind"] == "extra"), "{terms:?}");
}

#[test]
fn a_block_that_is_not_there_is_refused() {
    let out = output(&mut command(&["replay", "1", "--solution", "--block", "0,7"]));
    assert_eq!(out.code, 2, "{}", out.stdout);
    assert!(out.stderr.contains("there is no block [0, 7, 0]"), "{}", out.stderr);
}

#[test]
fn findings_name_elements_of_shared_memory() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    let wrong = ["--wrong", "no barrier before", "--test", "sgemm_tiled_tiny", "--no-open"];
    let mut replay = command(&["replay", "18"]);
    let out = output(replay.args(wrong).arg("--output").arg(&page));
    assert_eq!(out.code, 0, "{}", out.stderr);
    let data = document(&std::fs::read_to_string(page).unwrap());
    let first = data["findings"][0]["text"].as_str().unwrap();
    assert!(first.starts_with("shared-memory race") && first.ends_with(']'), "{first}");
}
