//! The files that `grader digits` writes.

use super::bench::Bench;

#[test]
fn digits_are_written_as_mnist_has_them() {
    let bench = Bench::new();
    let args = ["digits", "data", "--train", "20", "--test", "5", "--sheet", "sheet.png"];
    let page = bench.page(&args);
    assert!(page.starts_with("Wrote 20 training digits and 5 test digits to data"), "{page}");
    let file = |name: &str| std::fs::read(bench.path(&format!("data/{name}"))).unwrap();
    let train =
        ::digits::idx::read(&file("train-images-idx3-ubyte"), &file("train-labels-idx1-ubyte"));
    let test =
        ::digits::idx::read(&file("t10k-images-idx3-ubyte"), &file("t10k-labels-idx1-ubyte"));
    let expected: Vec<_> = ::digits::Writer::new(1).take(25).collect();
    assert_eq!([train.unwrap(), test.unwrap()].concat(), expected);
    assert!(std::fs::read(bench.path("sheet.png")).unwrap().starts_with(b"\x89PNG"));

    // They are valid, but not MNIST's.
    let checked = bench.run(&["mnist", "data"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (1, ""));
    assert!(
        checked.stdout.contains("can train with them all the same: grader run"),
        "{}",
        checked.stdout
    );
    assert_eq!(bench.run(&["mnist", "none"]).code, 2);

    bench.write("file", "");
    let out = bench.run(&["digits", "file"]);
    assert_eq!(out.code, 3);
    assert!(out.stderr.contains("cannot write file"), "{}", out.stderr);
}
