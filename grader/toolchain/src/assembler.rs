//! What NVIDIA's assembler says of the PTX of a file, on the lines of that file. It reads what the compiler made of it, so
//! only inline PTX (`asm`) can be wrong.

use super::messages::Message;
use super::ptx::source_line;

/// The errors in `stderr` (`ptxas x.ptx, line 31; error   : ...`), each on the line of the source that `ptx` names for it.
pub fn errors(stderr: &str, ptx: &str) -> Vec<Message> {
    let error = |line: &str| {
        let (at, said) = line.strip_prefix("ptxas ")?.split_once("; error")?;
        let at: usize = at.rsplit_once(", line ")?.1.parse().ok()?;
        let text = said.trim_start().strip_prefix(':')?.trim().to_owned();
        let (file, line) = source_line(ptx, at).unwrap_or_default();
        Some(Message { file, line, text, ..Message::default() })
    };
    stderr.lines().filter_map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::errors;

    #[test]
    fn errors_stand_on_the_line_of_the_source() {
        let ptx = "\t.loc\t1 5 30\n\tadd.f32 %f1, %f2;\n\
                   \t.loc\t2 9 1, function_name $L__info_string0, inlined_at 1 7 3\n\tfrob;\n\
                   \t.file\t1 \"/w/a b.cu\"\n\t.file\t2 \"/w/x.h\"\n";
        let stderr = "ptxas /tmp/x.ptx, line 2; error   : Arguments mismatch for instruction 'add'\n\
                      ptxas /tmp/x.ptx, line 4; error   : Not a name: 'frob'\n\
                      ptxas /tmp/x.ptx, line 1; error   : Parsing error\n\
                      ptxas fatal   : Ptx assembly aborted due to errors\n";
        let found: Vec<_> =
            errors(stderr, ptx).into_iter().map(|m| (m.file, m.line, m.text)).collect();
        let message = |file: &str, line, text: &str| (file.to_owned(), line, text.to_owned());
        assert_eq!(
            found,
            [
                message("/w/a b.cu", 5, "Arguments mismatch for instruction 'add'"),
                message("/w/a b.cu", 7, "Not a name: 'frob'"),
                message("", 0, "Parsing error"),
            ]
        );
    }
}
