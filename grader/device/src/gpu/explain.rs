//! The driver's errors in plain words: what each means here, whose turn it is, what to do next.
//!
//! Codes: CUDA Driver API, "Data types used by CUDA driver", enum `CUresult`.

use super::child::{Broken, NoAnswer};
use crate::checked::{Explanation, Step};
use crate::finding::Problem;
use cudart::device::{ErrorText, Properties};
use diagnostic::{Failure, FailureKind};
use hardware::{MAX_BLOCK, MAX_GRID, MAX_THREADS, NEWEST, SHARED_WITHOUT_OPT_IN};
use ptxvm::finding::Trap;
use puzzle::case::CaseLaunch;
use std::io;

/// Where to go for more: the virtual machine knows what the driver does not tell.
const SEE_MORE: &str = "run with --backend vm to see the line, the tensor and the index";

/// What a kernel did to make the driver stop it; `None` for codes that say nothing about the kernel.
fn of_a_kernel(code: &str) -> Option<&'static str> {
    Some(match code {
        "CUDA_ERROR_ILLEGAL_ADDRESS" => {
            "illegal address: a thread accessed memory outside every allocation; a wrong index or \
             an unset pointer does this"
        }
        "CUDA_ERROR_MISALIGNED_ADDRESS" => {
            "misaligned address: a thread accessed memory at an address that is not a multiple of \
             the access size; a cast to float4* at an odd offset does this"
        }
        "CUDA_ERROR_INVALID_ADDRESS_SPACE" => {
            "wrong address space: an instruction for shared, local or global memory got the address of another kind of memory"
        }
        "CUDA_ERROR_HARDWARE_STACK_ERROR" => {
            "stack error: a thread's stack is corrupt or full; endless recursion or a wrong index \
             into a local array does this"
        }
        "CUDA_ERROR_ILLEGAL_INSTRUCTION" | "CUDA_ERROR_INVALID_PC" => {
            "illegal instruction: a thread executed an invalid instruction; a wild jump or a trap does this"
        }
        "CUDA_ERROR_LAUNCH_FAILED" => {
            "the kernel was stopped while it ran: a wrong access to shared or local memory, or a trap, does this"
        }
        "CUDA_ERROR_LAUNCH_TIMEOUT" => {
            "the kernel ran longer than the driver allows on a GPU that also drives a display: is \
             there a loop that does not end?"
        }
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" => {
            "the kernel needs more registers for each thread than this GPU has for a block of this size: \
             use fewer local variables, or smaller local arrays"
        }
        _ => return None,
    })
}

/// What is wrong with a machine, and what would mend it; `{driver}` stands for the CUDA version that the driver knows.
fn of_a_machine(code: &str) -> Option<(&'static str, &'static str)> {
    Some(match code {
        "NO_DRIVER" => (
            "no NVIDIA driver was found: libcuda.so.1 cannot be loaded",
            "install the NVIDIA driver, or run with --backend vm, which needs none",
        ),
        "CUDA_ERROR_NO_DEVICE" | "CUDA_ERROR_INVALID_DEVICE" => (
            "the NVIDIA driver finds no GPU",
            "check with `nvidia-smi` and the variable CUDA_VISIBLE_DEVICES that a GPU is visible; \
             start a container with access to GPUs; or run with --backend vm",
        ),
        "CUDA_ERROR_STUB_LIBRARY" => (
            "the libcuda.so.1 that was found is a stub for linking, not a driver",
            "remove the folder `stubs` from LD_LIBRARY_PATH, or install the NVIDIA driver; or run with --backend vm",
        ),
        "CUDA_ERROR_NO_BINARY_FOR_GPU"
        | "CUDA_ERROR_INVALID_IMAGE"
        | "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
        | "CUDA_ERROR_INVALID_PTX"
        | "CUDA_ERROR_INVALID_SOURCE" => (
            "the NVIDIA driver (CUDA {driver}) cannot load the compiler's code for this GPU",
            "the driver must be as new as the compiler: update the NVIDIA driver, or choose an \
             older compiler with --nvcc (`grader doctor` shows both versions); or run with --backend vm",
        ),
        "CUDA_ERROR_JIT_COMPILER_NOT_FOUND" | "CUDA_ERROR_JIT_COMPILATION_DISABLED" => (
            "the NVIDIA driver cannot compile PTX for this GPU",
            "install the complete driver (libnvidia-ptxjitcompiler is missing), or unset \
             CUDA_DISABLE_PTX_JIT; or run with --backend vm",
        ),
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" => (
            "the driver's library and its kernel module have different versions",
            "restart the machine, because the driver was updated since it started; or run with --backend vm",
        ),
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE" => (
            "a CUDA compatibility library is found before the driver's own, and this GPU does not support it",
            "remove the folder `compat` from LD_LIBRARY_PATH, or run with --backend vm",
        ),
        "CUDA_ERROR_SYSTEM_NOT_READY" => (
            "the GPU's system is not ready",
            "check that the fabric manager is running (`systemctl status nvidia-fabricmanager`); \
             or run with --backend vm",
        ),
        "CUDA_ERROR_OUT_OF_MEMORY" => (
            "the GPU does not have enough free memory",
            "end the other programs on it (`nvidia-smi` lists them), choose another GPU with CUDA_VISIBLE_DEVICES, \
             or run with --backend vm",
        ),
        "CUDA_ERROR_DEVICE_UNAVAILABLE" | "CUDA_ERROR_CONTEXT_ALREADY_IN_USE" => (
            "the GPU is busy: it is in exclusive mode and another program holds it",
            "end the other program (`nvidia-smi` lists it), choose another GPU with CUDA_VISIBLE_DEVICES, \
             or run with --backend vm",
        ),
        "CUDA_ERROR_MPS_CONNECTION_FAILED"
        | "CUDA_ERROR_MPS_RPC_FAILURE"
        | "CUDA_ERROR_MPS_SERVER_NOT_READY"
        | "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"
        | "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED" => (
            "the CUDA MPS server does not accept this program",
            "look at the server's log, unset CUDA_MPS_PIPE_DIRECTORY, or run with --backend vm",
        ),
        "CUDA_ERROR_DEVICE_NOT_LICENSED" => (
            "the GPU has no licence for compute work",
            "get a licence for compute, which a virtual GPU needs; or run with --backend vm",
        ),
        "CUDA_ERROR_ECC_UNCORRECTABLE" | "CUDA_ERROR_NVLINK_UNCORRECTABLE" => (
            "the GPU's hardware reports an error in its memory or links",
            "reset the GPU or use another one; or run with --backend vm",
        ),
        "CUDA_ERROR_OPERATING_SYSTEM" | "CUDA_ERROR_NOT_PERMITTED" => (
            "the operating system refused a call of the driver",
            "check that you have permission to open /dev/nvidia*; or run with --backend vm",
        ),
        _ => return None,
    })
}

fn trap(message: Option<String>) -> Problem {
    Problem::Check(Trap { message }.into())
}

/// Explains an error that the driver returned to a step. `log` is what the child wrote on standard error: a failed `assert`
/// is printed there.
pub fn driver(
    step: Step<'_>,
    error: &ErrorText,
    info: Option<&Properties>,
    log: &str,
) -> Explanation {
    let ErrorText { name: code, text } = error;
    match step {
        Step::Wait(_) if code == "CUDA_ERROR_ASSERT" => {
            return Ok(trap(assertion(log)));
        }
        Step::Launch(_) | Step::Wait(_) => {
            if let Some(meaning) = of_a_kernel(code) {
                let meaning = if code == "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" {
                    meaning.to_owned()
                } else {
                    format!("{meaning}; {SEE_MORE}")
                };
                return Ok(Problem::Driver { code: code.clone(), meaning });
            }
        }
        _ => {}
    }
    let too_large = ["CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"];
    if let (Step::Launch(launch), true) = (step, too_large.contains(&code.as_str())) {
        return Err(refused_launch(launch, code));
    }
    if let Some((title, help)) = of_a_machine(code) {
        let version = info.map_or("version unknown".to_owned(), |i| cuda_version(i.driver_version));
        let title = format!("{} ({code})", title.replace("{driver}", &version));
        return Err(Failure::new(FailureKind::Environment, title, help));
    }
    // An unknown error while a kernel ran is laid at the kernel's door: it must not pass.
    if let Step::Wait(_) = step {
        let meaning = format!("the driver stopped the kernel: {text}; {SEE_MORE}");
        return Ok(Problem::Driver { code: code.clone(), meaning });
    }
    let doing = match step {
        Step::Open => "starting the GPU",
        Step::Load => "loading the compiled kernel",
        Step::Place => "filling the GPU's memory",
        Step::Launch(_) | Step::Wait(_) => "starting the kernel",
        Step::Read => "reading the results",
    };
    Err(Failure::new(
        FailureKind::Environment,
        format!("the NVIDIA driver failed while {doing}: {code}, {text}"),
        "try again; `grader doctor` shows the driver's state; or run with --backend vm",
    ))
}

/// Explains that the child cannot be started.
pub fn not_started(error: &io::Error) -> Failure {
    Failure::new(
        FailureKind::Environment,
        format!("the process that drives the GPU cannot be started: {error}"),
        "run with --backend vm, which needs no second process",
    )
}

/// Explains a child that gave no answer.
pub fn broken(broken: &Broken, waited_for: &str) -> Explanation {
    let environment =
        |title: String, help: &str| Err(Failure::new(FailureKind::Environment, title, help));
    match (&broken.why, broken.in_launch) {
        (NoAnswer::TimedOut(limit), true) => Ok(Problem::TimeOut { seconds: limit.as_secs_f64() }),
        (NoAnswer::TimedOut(limit), false) => environment(
            format!(
                "the NVIDIA driver did not answer within {:.0} s ({waited_for})",
                limit.as_secs_f64()
            ),
            "run `nvidia-smi`: if it does not answer either, the driver hangs, so restart the \
             machine; or run with --backend vm",
        ),
        (NoAnswer::Ended { status, .. }, true) => Ok(Problem::Driver {
            code: status.clone(),
            meaning: format!(
                "the process that drives the GPU crashed while the kernel ran; {SEE_MORE}"
            ),
        }),
        (NoAnswer::Ended { status, log }, false) => {
            let last = log.lines().rev().find(|l| !l.starts_with("note:") && !l.trim().is_empty());
            let said = last.map_or(String::new(), |l| format!("; its last output: {}", l.trim()));
            environment(
                format!(
                    "the process that drives the GPU ended before it answered ({waited_for}): {status}{said}"
                ),
                "try again; `grader doctor` shows the driver's state; or run with --backend vm",
            )
        }
        (NoAnswer::Invalid(what), _) => environment(
            format!("the process that drives the GPU sent a damaged answer: {what}"),
            "the grader discards it and does not judge the kernel: run with --backend vm, which finds wild writes",
        ),
    }
}

/// A launch whose numbers the driver does not take.
fn refused_launch(launch: &CaseLaunch, code: &str) -> Failure {
    let CaseLaunch { kernel, grid: [gx, gy, gz], block: [bx, by, bz], shared, .. } = launch;
    let what = format!(
        "`{kernel}` with grid ({gx}, {gy}, {gz}), block ({bx}, {by}, {bz}) and {shared} bytes of dynamic shared memory"
    );
    Failure::new(
        FailureKind::Usage,
        format!("the GPU cannot start {what} ({code})"),
        format!(
            "in the spec's [[launch]]: a block has at most {MAX_THREADS} threads ({} in z), a grid at most {} blocks in y and \
             in z and none of its sizes is 0, and a block's shared memory, static and dynamic, has at most {} KiB to {} KiB, \
             depending on the GPU; a cooperative launch needs room for all its blocks at once",
            MAX_BLOCK[2],
            MAX_GRID[2],
            SHARED_WITHOUT_OPT_IN >> 10,
            NEWEST.block_shared() >> 10,
        ),
    )
}

/// `file.cu:3: void k(float *): block: [0,0,0], thread: [1,0,0] Assertion `i < n` failed.`, as the driver prints it.
fn assertion(log: &str) -> Option<String> {
    log.lines()
        .find(|l| l.contains("Assertion `") && l.contains("failed"))
        .map(|l| l.trim().to_owned())
}

/// `13.0` for 13000, as the driver and the compilers count.
pub fn cuda_version(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::case::LaunchOptions;
    use std::time::Duration;

    fn launch() -> CaseLaunch {
        CaseLaunch {
            kernel: "k".into(),
            grid: [1, 2, 3],
            block: [2048, 1, 1],
            shared: 5,
            options: LaunchOptions::default(),
            args: Vec::new(),
            constants: Vec::new(),
            moves_in: Vec::new(),
        }
    }

    fn explain(step: Step<'_>, code: &str, log: &str) -> Explanation {
        let error = ErrorText { name: code.into(), text: "words".into() };
        let info = Properties { driver_version: 12040, ..Properties::default() };
        driver(step, &error, Some(&info), log)
    }

    fn machine(meaning: Explanation) -> (FailureKind, String, String) {
        let Err(failure) = meaning else { panic!("{meaning:?}") };
        (failure.kind, failure.diagnostics[0].title.clone(), failure.diagnostics[0].help.join("\n"))
    }

    #[test]
    fn what_a_kernel_did_is_a_finding_only_while_it_runs() {
        let Ok(Problem::Driver { code, meaning }) =
            explain(Step::Wait(&launch()), "CUDA_ERROR_ILLEGAL_ADDRESS", "")
        else {
            panic!()
        };
        assert_eq!(code, "CUDA_ERROR_ILLEGAL_ADDRESS");
        assert!(
            meaning.contains("outside every allocation") && meaning.contains("--backend vm"),
            "{meaning}"
        );
        let (kind, ..) = machine(explain(Step::Open, "CUDA_ERROR_ILLEGAL_ADDRESS", ""));
        assert_eq!(kind, FailureKind::Environment);
    }

    #[test]
    fn an_old_driver_is_named_with_its_version() {
        let (kind, title, help) =
            machine(explain(Step::Load, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", ""));
        assert_eq!(kind, FailureKind::Environment);
        assert!(
            title.contains("CUDA 12.4") && help.contains("update the NVIDIA driver"),
            "{title}: {help}"
        );
    }

    #[test]
    fn a_refused_launch_is_the_specs_matter() {
        let (kind, title, help) =
            machine(explain(Step::Launch(&launch()), "CUDA_ERROR_INVALID_VALUE", ""));
        assert_eq!(kind, FailureKind::Usage);
        assert!(
            title.contains("block (2048, 1, 1)") && help.contains("1024 threads"),
            "{title}: {help}"
        );
    }

    #[test]
    fn a_failed_assert_is_quoted() {
        let line =
            "x.cu:3: void k(float *): block: [0,0,0], thread: [1,0,0] Assertion `i < n` failed.";
        let failed = |log: &str| explain(Step::Wait(&launch()), "CUDA_ERROR_ASSERT", log);
        assert_eq!(failed(&format!("noise\n{line}\nmore")), Ok(trap(Some(line.into()))));
        assert_eq!(failed(""), Ok(trap(None)));
    }

    #[test]
    fn an_unknown_code_is_shown_and_never_passes() {
        let launch = launch();
        let steps = [Step::Open, Step::Load, Step::Place, Step::Read];
        for step in steps.into_iter().chain([Step::Launch(&launch), Step::Wait(&launch)]) {
            match explain(step, "CUDA_ERROR_OF_2031", "") {
                Ok(Problem::Driver { code, .. }) => {
                    assert_eq!(code, "CUDA_ERROR_OF_2031");
                }
                other => {
                    assert!(machine(other).1.contains("CUDA_ERROR_OF_2031, words"), "{step:?}");
                }
            }
        }
    }

    #[test]
    fn a_child_without_an_answer_is_explained() {
        let meaning = |why, in_launch| broken(&Broken { why, in_launch }, "probe");
        let late = || NoAnswer::TimedOut(Duration::from_secs(10));
        let time_out = Ok(Problem::TimeOut { seconds: 10.0 });
        assert_eq!(meaning(late(), true), time_out);
        assert!(machine(meaning(late(), false)).1.contains("within 10 s (probe)"));
        let ended =
            |log: &str| NoAnswer::Ended { status: "ended by SIGSEGV".into(), log: log.into() };
        assert!(matches!(meaning(ended(""), true), Ok(Problem::Driver { .. })));
        let (kind, title, _) =
            machine(meaning(ended("panicked at\nMissing symbol cuX\nnote: run with"), false));
        assert_eq!(kind, FailureKind::Environment);
        assert!(title.contains("SIGSEGV") && title.ends_with("Missing symbol cuX"), "{title}");
        assert!(machine(meaning(NoAnswer::Invalid("x".into()), true)).2.contains("does not judge"));
        let missing = not_started(&io::ErrorKind::NotFound.into());
        assert_eq!(missing.kind, FailureKind::Environment);
    }
}
