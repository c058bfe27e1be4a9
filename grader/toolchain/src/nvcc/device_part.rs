//! What the host compiler includes of a source's device part: how its kernels are launched, and the kernels themselves.
//!
//! An edit of host code rarely changes it. So the host compiler starts with that of the last time, while the device part is
//! being compiled. What it makes counts if both turn out to be the same, byte for byte.

use super::NvccFrontEnd;
use super::plan::{Files, Plan, options};
use crate::cache::Key;
use crate::front_end::{FrontEnd, Job};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The files' texts, in the order of [`Plan::device_part`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePart([String; 2]);

/// A compilation of the host's part with a device part that may turn out to be another.
#[derive(Clone, Debug)]
pub struct EarlyCompile {
    /// The host compiler's command, on copies.
    pub command: String,
    /// The copy of the host's part, and what is made of it.
    pub files: Files,
}

impl DevicePart {
    /// That which has just been compiled, without the name of its folder, which differs from time to time.
    pub fn of(plan: &Plan) -> io::Result<Self> {
        let folder = folder(plan).display().to_string();
        let text = |path| fs::read_to_string(path).map(|text| text.replace(&folder, "."));
        let [launches, kernels] = &plan.device_part;
        Ok(Self([text(launches)?, text(kernels)?]))
    }

    /// That of this file when it was compiled the last time with these options.
    pub fn previous(nvcc: &NvccFrontEnd, plan: &Plan, job: &Job<'_>) -> Option<Self> {
        serde_json::from_slice(&nvcc.cache.get(&key(nvcc, plan, job)?)?).ok()
    }

    /// Keeps it for the next time. Without it, the host compiler waits the next time.
    pub fn keep(&self, nvcc: &NvccFrontEnd, plan: &Plan, job: &Job<'_>) {
        if let (Some(key), Ok(entry)) = (key(nvcc, plan, job), serde_json::to_vec(self)) {
            let _ = nvcc.cache.put(&key, &entry);
        }
    }

    /// Puts it into a folder of its own, together with a copy of the host's part.
    pub fn prepare(&self, plan: &Plan) -> io::Result<EarlyCompile> {
        let folder = folder(plan).join("early");
        fs::create_dir_all(&folder)?;
        let copy = |path: &Path| folder.join(path.file_name().unwrap_or_default());
        for (path, text) in plan.device_part.iter().zip(&self.0) {
            fs::write(copy(path), text)?;
        }
        let Files { source, object } = &plan.host_files;
        let files = Files { source: copy(source), object: copy(object) };
        fs::copy(source, &files.source)?;
        let command = plan.host_files.replace(&plan.commands[plan.host_compiler], &files);
        Ok(EarlyCompile { command, files })
    }
}

impl EarlyCompile {
    /// Puts what was made to where the linker expects it.
    pub fn accept(&self, plan: &Plan) -> io::Result<()> {
        fs::rename(&self.files.object, &plan.host_files.object)
    }
}

/// Where the plan's files lie.
fn folder(plan: &Plan) -> &Path {
    plan.module_id.parent().unwrap_or(Path::new("/"))
}

fn key(nvcc: &NvccFrontEnd, plan: &Plan, job: &Job<'_>) -> Option<Key> {
    let identity = nvcc.identity()?;
    let options = options(&plan.commands[plan.host_compiler], folder(plan));
    let parts = [identity.as_slice(), job.folder.as_os_str().as_bytes(), job.file.as_bytes()];
    Some(Key::of("device part", parts.into_iter().chain(options.map(str::as_bytes))))
}
