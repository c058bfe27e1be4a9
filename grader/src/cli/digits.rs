//! The command `grader digits`.

use super::args::DigitsArgs;
use super::console;
use ::digits::{Digit, SIDE, Writer, idx};
use diagnostic::{Failure, FailureKind};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The number of images in a row of the contact sheet.
const COLUMNS: usize = 40;
/// The largest number of rows of the contact sheet.
const ROWS: usize = 25;

pub(super) fn run(args: &DigitsArgs) -> Result<(), Failure> {
    let digits: Vec<Digit> =
        Writer::new(args.seed).take((args.train + args.test) as usize).collect();
    let (train, test) = digits.split_at(args.train as usize);
    let write = |name: &str, what: &dyn Fn(&mut BufWriter<File>) -> io::Result<()>| {
        let path = args.dir.join(name);
        let written = File::create(&path).map(BufWriter::new).and_then(|mut file| {
            what(&mut file)?;
            file.flush()
        });
        written.map_err(|e| cannot_write(&path, &e))
    };
    std::fs::create_dir_all(&args.dir).map_err(|e| cannot_write(&args.dir, &e))?;
    for (name, digits) in [("train", train), ("t10k", test)] {
        write(&format!("{name}-images-idx3-ubyte"), &|to| idx::write_images(to, digits))?;
        write(&format!("{name}-labels-idx1-ubyte"), &|to| idx::write_labels(to, digits))?;
    }
    if let Some(path) = &args.sheet {
        write_sheet(path, &digits).map_err(|e| cannot_write(path, &e))?;
    }
    console::print(&format!(
        "Wrote {} training digits and {} test digits to {}, in MNIST's format and with its file \
         names.\n",
        args.train,
        args.test,
        args.dir.display()
    ));
    Ok(())
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        FailureKind::Environment,
        format!("cannot write {}: {error}", path.display()),
        "choose a writable folder on a disk with free space",
    )
}

/// Writes a contact sheet: the first digits side by side, as PNG.
fn write_sheet(path: &Path, digits: &[Digit]) -> io::Result<()> {
    let shown = &digits[..digits.len().min(COLUMNS * ROWS)];
    let rows = shown.len().div_ceil(COLUMNS).max(1);
    let width = COLUMNS * SIDE;
    let mut pixels = vec![0; width * rows * SIDE];
    for (i, digit) in shown.iter().enumerate() {
        let (left, top) = (i % COLUMNS * SIDE, i / COLUMNS * SIDE);
        for (y, line) in digit.pixels.chunks_exact(SIDE).enumerate() {
            let start = (top + y) * width + left;
            pixels[start..start + SIDE].copy_from_slice(line);
        }
    }
    let to = BufWriter::new(File::create(path)?);
    let mut picture = png::Encoder::new(to, width as u32, (rows * SIDE) as u32);
    picture.set_color(png::ColorType::Grayscale);
    let mut picture = picture.write_header()?;
    picture.write_image_data(&pixels)?;
    picture.finish()?;
    Ok(())
}
