//! Grades through Slurm: a job array, each task of which grades a slice of what has no result yet.
//!
//! Results are files of the folder that all nodes share, so they are merged as they come, and nothing is lost with a node: Slurm
//! puts its slices in the queue again, and what the array left is a new array.

use crate::local;
use crate::plan::{Plan, write_whole};
use crate::settings::Slurm;
use crate::store::Store;
use diagnostic::{Failure, FailureKind};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;
use toolchain::spinner::Progress;

/// Arrays that are submitted at most, each for what the one before left.
const ROUNDS: usize = 5;

/// Time between two questions to Slurm.
const PATIENCE: Duration = Duration::from_secs(2);

/// So many unanswered questions in a row mean that Slurm is gone.
const UNANSWERED: usize = 60;

/// Grades the tasks of a plan in slices, and waits for the results. With `partly_confined`, also on nodes that cannot confine
/// submissions completely.
///
/// # Errors
/// Slurm does not take the job, or tasks are left after all rounds.
pub fn run(
    (slurm, partly_confined): (&Slurm, bool),
    plan: &Plan,
    out: &Path,
    store: &Store,
    slices: usize,
    progress: &Progress,
) -> Result<(), Failure> {
    let count = |plan: &Plan| plan.tasks.iter().filter(|task| store.has(&task.key)).count() as u64;
    for _ in 0..ROUNDS {
        let mut left = plan.clone();
        left.tasks.retain(|task| !store.has(&task.key));
        if left.tasks.is_empty() {
            return Ok(());
        }
        left.save(out)?;
        let slices = slices.min(left.tasks.len());
        let job = submit((slurm, partly_confined), out, slices)?;
        progress.message(&format!("grading in Slurm's job {job}"));
        let mut unanswered = 0;
        while unanswered < UNANSWERED {
            thread::sleep(PATIENCE);
            progress.position(count(plan));
            match is_running(&job) {
                Some(true) => unanswered = 0,
                Some(false) => break,
                None => unanswered += 1,
            }
        }
        progress.position(count(plan));
    }
    match local::pending(plan, store, false)?.len() {
        0 => Ok(()),
        left => {
            let title = format!("Slurm's jobs left {left} tasks without a result");
            let help = format!("{} says why", out.join("slurm").display());
            Err(Failure::new(FailureKind::Environment, title, help))
        }
    }
}

/// Submits the array, and gives the number of the job.
fn submit(
    (slurm, partly_confined): (&Slurm, bool),
    out: &Path,
    slices: usize,
) -> Result<String, Failure> {
    let failed = |title: String| {
        let help = "options for sbatch are in [slurm] of class.toml; `sinfo` shows the partitions";
        Failure::new(FailureKind::Environment, title, help)
    };
    let folder = out.join("slurm");
    let path = folder.join("job.sh");
    let program = std::env::current_exe()
        .map_err(|e| failed(format!("cannot find the grader's own program: {e}")))?;
    let script = script(slurm, &program, out, slices)
        + if partly_confined { " --partly-confined\n" } else { "\n" };
    fs::create_dir_all(&folder)
        .and_then(|()| write_whole(&path, script.as_bytes()))
        .map_err(|e| failed(format!("cannot write {}: {e}", path.display())))?;
    let mut command = Command::new("sbatch");
    command.arg("--parsable").arg("--requeue").arg("--job-name=grader");
    command.arg(format!("--array=0-{}", slices - 1));
    command.arg("--output").arg(folder.join("%A_%a.log"));
    command.args(&slurm.options).arg(&path);
    let Output { status, stdout, stderr } =
        command.output().map_err(|e| failed(format!("cannot run sbatch: {e}")))?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        return Err(failed(format!("sbatch does not take the job: {}", said.trim())));
    }
    // "123", or "123;cluster".
    let number = String::from_utf8_lossy(&stdout);
    Ok(number.trim().split(';').next().unwrap_or_default().to_owned())
}

/// The job script of a slice.
fn script(slurm: &Slurm, program: &Path, out: &Path, slices: usize) -> String {
    let setup: String = slurm.setup.iter().flat_map(|line| [line, "\n"]).collect();
    let container = match slurm.container.as_str() {
        "" => String::new(),
        command => format!("{command} "),
    };
    let [program, out] = [program, out].map(quoted);
    format!(
        "#!/bin/sh\n{setup}exec {container}{program} class slice --out {out} \
         --index \"$SLURM_ARRAY_TASK_ID\" --of {slices}"
    )
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

/// Whether the job is in Slurm's queue; `None` if Slurm does not answer.
fn is_running(job: &str) -> Option<bool> {
    let asked = Command::new("squeue").args(["--noheader", "--format=%i", "--jobs", job]).output();
    let Output { status, stdout, stderr } = asked.ok()?;
    if status.success() {
        return Some(!stdout.trim_ascii().is_empty());
    }
    // A job that ended a while ago is unknown.
    String::from_utf8_lossy(&stderr).contains("Invalid job id").then_some(false)
}

/// The cores that Slurm gave to this task, if it runs under Slurm.
pub fn cores() -> Option<usize> {
    let given = std::env::var("SLURM_CPUS_PER_TASK").or(std::env::var("SLURM_CPUS_ON_NODE"));
    given.ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_runs_a_slice_with_what_the_class_asks_for() {
        let slurm = Slurm {
            options: Vec::new(),
            setup: vec!["module load cuda".into()],
            container: "apptainer exec --nv grader.sif".into(),
        };
        let text = script(&slurm, Path::new("/bin/grader"), Path::new("/it's/out"), 4);
        let expected = "#!/bin/sh\nmodule load cuda\nexec apptainer exec --nv grader.sif '/bin/grader' class slice \
                        --out '/it'\\''s/out' --index \"$SLURM_ARRAY_TASK_ID\" --of 4";
        assert_eq!(text, expected);
    }
}
