//! Words about work that nothing orders.

use device::finding::{Place, StreamOperation, StreamRace};
use ptxvm::finding::Words;

/// How the host's own code is called.
const HOST: &str = "the host's own code";

/// What an operation does to the memory.
fn verb(operation: &StreamOperation) -> &'static str {
    match (operation.name.as_deref(), operation.writes) {
        (Some("cudaMallocAsync"), _) => "allocates",
        (Some("cudaFreeAsync"), _) => "frees",
        (_, true) => "writes",
        (_, false) => "reads",
    }
}

/// The name of an operation as it is called.
fn name(operation: &StreamOperation) -> String {
    operation.name.as_ref().map_or_else(|| HOST.to_owned(), |name| format!("`{name}`"))
}

/// Its name and its stream.
fn whole_name(operation: &StreamOperation) -> String {
    let stream = operation.stream.as_ref();
    let stream = stream.map_or_else(String::new, |stream| format!(" in {stream}"));
    name(operation) + &stream
}

/// Two operations of one place that nothing orders.
pub fn race(StreamRace { place, bytes, sides: [first, second] }: &StreamRace) -> Words {
    let title = format!(
        "nothing orders {}, which {} {}, and {}, which {} it",
        whole_name(first),
        verb(first),
        place.name(),
        whole_name(second),
        verb(second),
    );
    let (one, other) = (name(first), name(second));
    let Some(stream) = &second.stream else {
        let help = format!(
            "{one} returns before its work is done: wait for it (cudaStreamSynchronize, cudaEventSynchronize) before the host uses \
             this memory"
        );
        return Words::new(title).help(help);
    };
    let words = Words::new(title)
        .help(format!("both access {bytes} bytes from there on, in either order or at once"))
        .help(format!(
            "record an event behind {one} (cudaEventRecord), and let {stream} wait for it before {other} (cudaStreamWaitEvent); or \
             wait on the host (cudaStreamSynchronize)"
        ));
    let default = |side: &StreamOperation| side.stream.as_deref() == Some("the default stream");
    if default(first) || default(second) {
        return words.help(
            "a stream that was created with cudaStreamNonBlocking and the default stream do not wait for each other",
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::finding::Element;

    fn of(first: [Option<&str>; 2], second: [Option<&str>; 2]) -> (String, Vec<String>) {
        let side = |[name, stream]: [Option<&str>; 2], writes| StreamOperation {
            name: name.map(str::to_owned),
            stream: stream.map(str::to_owned),
            writes,
        };
        let place = Element { tensor: "loss".into(), shape: vec![8], flat: 2 };
        let sides = [side(first, true), side(second, false)];
        let words = race(&StreamRace { place, bytes: 12, sides });
        (words.title, words.help)
    }

    #[test]
    fn both_operations_are_named_with_their_streams() {
        let (title, help) = of(
            [Some("step"), Some("stream 1")],
            [Some("cudaMemcpyAsync"), Some("the default stream")],
        );
        assert_eq!(
            title,
            "nothing orders `step` in stream 1, which writes loss[2], and `cudaMemcpyAsync` in the default stream, which reads it"
        );
        assert_eq!(help[0], "both access 12 bytes from there on, in either order or at once");
        assert!(help[1].contains("record an event behind `step`"), "{help:?}");
        assert!(help[2].contains("cudaStreamNonBlocking"), "{help:?}");
    }

    #[test]
    fn the_host_has_to_wait() {
        let (title, help) = of([Some("cudaMemcpyAsync"), Some("stream 1")], [None, None]);
        let both = "`cudaMemcpyAsync` in stream 1, which writes loss[2], and the host's own code, which reads it";
        assert_eq!(title, format!("nothing orders {both}"));
        assert_eq!(help.len(), 1);
        assert!(
            help[0].starts_with("`cudaMemcpyAsync` returns before its work is done"),
            "{help:?}"
        );
    }
}
