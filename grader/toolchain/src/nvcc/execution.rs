//! Carries out nvcc's plan: commands that do not wait for each other run side by side.

use super::device_part::{DevicePart, EarlyCompile};
use super::glue::GlueObject;
use super::plan::Plan;
use super::stage::Stage;
use super::{NvccFrontEnd, Place, is_readable, no_scratch, precompiled_header};
use crate::front_end::{Glue, Job};
use crate::process::{Finished, Termination};
use diagnostic::Failure;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

impl NvccFrontEnd {
    /// Does what nvcc does with these arguments: the same messages, exit code and library, but sooner. The glue's text stands
    /// in `glue_file`, which is one of the arguments. Whatever is not as expected is left to nvcc itself.
    pub(super) fn run_side_by_side(
        &self,
        job: &Job<'_>,
        stage: &Stage<'_>,
        glue: &Glue<'_>,
        glue_file: &Path,
        arguments: &[OsString],
    ) -> Result<Finished, Failure> {
        let start = Instant::now();
        let scratch = stage.folder();
        let dry = ["--dryrun".into(), "--keep".into(), "--keep-dir".into(), scratch.into()];
        let place = Place::of(job, scratch);
        let answer = self.run(place, &[&dry, arguments].concat())?;
        let plan = Plan::read(&answer.stderr_text(), scratch, glue_file);
        if let Some(plan) = plan.filter(|_| answer.success()) {
            let own = plan.registers_itself().then(|| plan.registration() + glue.text);
            if let Some(text) = &own {
                std::fs::write(glue_file, text).map_err(|e| no_scratch(&e))?;
            }
            let glue = match &own {
                // Its names are those of this compilation.
                Some(text) => &Glue { text, inputs: None },
                None => glue,
            };
            let glue = GlueObject::new(self, &plan, glue);
            let first_failure = AtomicUsize::new(usize::MAX);
            let outdated = AtomicBool::new(false);
            let execution =
                Execution { nvcc: self, job, stage, plan, glue, start, first_failure, outdated };
            if let Some(done) = execution.run()? {
                return Ok(done);
            }
        }
        self.run_for(start, place, arguments)
    }
}

/// What the commands did, by number.
type Results = BTreeMap<usize, Finished>;

/// A plan that is being carried out.
struct Execution<'a> {
    nvcc: &'a NvccFrontEnd,
    job: &'a Job<'a>,
    stage: &'a Stage<'a>,
    plan: Plan,
    glue: GlueObject,
    start: Instant,
    /// The command that failed, the first one in nvcc's order: nothing after it matters.
    first_failure: AtomicUsize,
    /// The device part is another one than that of the last time.
    outdated: AtomicBool,
}

impl Execution<'_> {
    /// `None` if nvcc itself must say how it ends.
    fn run(&self) -> Result<Option<Finished>, Failure> {
        let plan = &self.plan;
        std::fs::write(&plan.module_id, plan.module_name()).map_err(|e| no_scratch(&e))?;
        let mut results = thread::scope(|scope| {
            let glue = scope.spawn(|| self.compile_glue());
            let mut results =
                if self.job.device_code { self.both_parts() } else { self.host_part() }?;
            results.extend(join(glue)?);
            Ok(results)
        })?;
        if succeeded(&results) {
            results.extend(self.lane(&plan.linker)?);
        }
        let failed = results.iter().find(|(_, done)| !done.success());
        // Where the words are not as they seemed, there is device code after all, which the host compiler misses.
        let surprising = failed.is_some_and(|(&i, _)| i >= plan.host_compiler);
        let done = self.as_one(results);
        Ok((is_readable(&done) && (self.job.device_code || !surprising)).then_some(done))
    }

    /// Compiles a source without device code: nothing is launched, and there are no kernels to include.
    fn host_part(&self) -> Result<Results, Failure> {
        for path in &self.plan.device_part {
            std::fs::write(path, "").map_err(|e| no_scratch(&e))?;
        }
        let mut results = self.lane(&self.plan.host)?;
        if succeeded(&results) {
            results.insert(self.plan.host_compiler, self.compile_host()?);
        }
        Ok(results)
    }

    /// Compiles the host's part and the device's part.
    fn both_parts(&self) -> Result<Results, Failure> {
        let plan = &self.plan;
        let previous = DevicePart::previous(self.nvcc, plan, self.job);
        let (mut results, early) = thread::scope(|scope| {
            let host = scope.spawn(|| {
                let results = self.lane(&plan.host)?;
                let early =
                    if succeeded(&results) { self.compile_early(previous.as_ref())? } else { None };
                Ok((results, early))
            });
            let device = self.lane(&plan.device);
            let current = DevicePart::of(plan).ok();
            if current != previous {
                self.outdated.store(true, Ordering::Relaxed);
            }
            let (mut results, early) = join(host)?;
            results.extend(device?);
            if current != previous
                && succeeded(&results)
                && let Some(current) = current
            {
                current.keep(self.nvcc, plan, self.job);
            }
            Ok((results, early))
        })?;
        if !succeeded(&results) {
            return Ok(results);
        }
        let is_current = !self.outdated.load(Ordering::Relaxed);
        let early = early.filter(|(early, _)| is_current && early.accept(plan).is_ok());
        let compiled = match early {
            Some((_, compiled)) => compiled,
            None => self.compile_host()?,
        };
        results.insert(plan.host_compiler, compiled);
        Ok(results)
    }

    /// The results of commands one after another, up to the first that fails.
    fn lane(&self, lane: &[usize]) -> Result<Results, Failure> {
        let mut results = Results::new();
        for &number in lane {
            let done = self.record(number, self.shell(number, &self.plan.commands[number])?);
            let success = done.success();
            results.insert(number, done);
            if !success {
                break;
            }
        }
        Ok(results)
    }

    /// Runs the host compiler with the device part of the last time, if there is one. What fails here is no failure yet.
    fn compile_early(
        &self,
        previous: Option<&DevicePart>,
    ) -> Result<Option<(EarlyCompile, Finished)>, Failure> {
        let plan = &self.plan;
        let Some(early) = previous.and_then(|previous| previous.prepare(plan).ok()) else {
            return Ok(None);
        };
        let outdated = || self.outdated.load(Ordering::Relaxed);
        let run = |command: &str| self.shell_until(plan.host_compiler, command, &outdated);
        let compiled = precompiled_header::compile(
            self.nvcc,
            self.stage.alias(),
            &early.command,
            &early.files,
            &run,
        )?;
        Ok(compiled.success().then_some((early, compiled)))
    }

    /// Runs the host compiler.
    fn compile_host(&self) -> Result<Finished, Failure> {
        let number = self.plan.host_compiler;
        let command = &self.plan.commands[number];
        let run = |command: &str| self.shell(number, command);
        let done = precompiled_header::compile(
            self.nvcc,
            self.stage.alias(),
            command,
            &self.plan.host_files,
            &run,
        )?;
        Ok(self.record(number, done))
    }

    /// Compiles the glue, unless that was done before.
    fn compile_glue(&self) -> Result<Results, Failure> {
        if self.glue.restore(self.nvcc) {
            return Ok(Results::new());
        }
        let results = self.lane(&[self.plan.glue])?;
        if results.values().all(|done| done.success() && done.stderr.is_empty()) {
            self.glue.keep(self.nvcc);
        }
        Ok(results)
    }

    /// Runs a command, which stands in the plan under this number, until one before it fails.
    fn shell(&self, number: usize, command: &str) -> Result<Finished, Failure> {
        self.shell_until(number, command, &|| false)
    }

    /// As [`Execution::shell`], and also until `in_vain` says so.
    fn shell_until(
        &self,
        number: usize,
        command: &str,
        in_vain: &dyn Fn() -> bool,
    ) -> Result<Finished, Failure> {
        let mut shell = self.nvcc.env.command("/bin/sh");
        // `exec` spares a process.
        shell.args(["-c", &format!("exec {command}")]).envs(self.plan.variables.iter().cloned());
        let in_vain = || self.first_failure.load(Ordering::Relaxed) < number || in_vain();
        self.nvcc.run_command(shell, self.start, Place::of(self.job, self.stage.folder()), &in_vain)
    }

    /// Stops the commands after a failed one.
    fn record(&self, number: usize, done: Finished) -> Finished {
        if !done.success() {
            self.first_failure.fetch_min(number, Ordering::Relaxed);
        }
        done
    }

    /// As if nvcc had run the commands one after another, up to the first that fails.
    fn as_one(&self, results: Results) -> Finished {
        let mut one = Finished {
            ending: Termination::Code(0),
            stdout: Vec::new(),
            stderr: Vec::new(),
            truncated: false,
            time: self.start.elapsed(),
        };
        for done in results.into_values() {
            one.ending = done.ending;
            one.stdout.extend(done.stdout);
            one.stderr.extend(done.stderr);
            one.truncated |= done.truncated;
            if one.ending != Termination::Code(0) {
                break;
            }
        }
        one
    }
}

fn succeeded(results: &Results) -> bool {
    results.values().all(Finished::success)
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests;
