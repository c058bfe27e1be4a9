//! Says when files may have changed. The only file that knows notify.

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::path::Path;

/// Calls back while it lives.
///
/// Its word is a hint: editors write in many ways (in place, to another file that is then renamed, with a backup), and
/// network and virtual machines' file systems often send no events at all. So whoever is told looks for himself, and
/// also looks now and then without being told.
#[derive(Debug)]
pub struct Watcher {
    /// `None` where the system cannot watch: too many watches, no inotify.
    _inner: Option<RecommendedWatcher>,
}

impl Watcher {
    /// Watches everything in these folders; those that cannot be watched are left out.
    pub fn start(folders: &[&Path], mut changed: impl FnMut() + Send + 'static) -> Self {
        let told = move |event: notify::Result<notify::Event>| {
            // After an error (an overflowing queue) anything may have changed.
            if event.is_ok_and(|event| is_reading(event.kind)) {
                return;
            }
            changed();
        };
        let mut inner = notify::recommended_watcher(told).ok();
        if let Some(watcher) = &mut inner {
            for folder in folders {
                watcher.watch(folder, RecursiveMode::Recursive).ok();
            }
        }
        Self { _inner: inner }
    }
}

/// The grader's own reading must not wake it.
fn is_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn writing_and_renaming_are_told_and_reading_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.cu");
        std::fs::write(&file, "a").unwrap();
        let (sender, events) = channel();
        let _watcher = Watcher::start(&[dir.path(), Path::new("/nonexistent")], move || {
            sender.send(()).ok();
        });
        let wait = Duration::from_secs(20);
        let quiet = || while events.recv_timeout(Duration::from_secs(1)).is_ok() {};
        std::fs::write(&file, "b").unwrap();
        events.recv_timeout(wait).expect("a write is told");
        quiet();
        std::fs::read(&file).unwrap();
        assert!(events.recv_timeout(Duration::from_secs(1)).is_err(), "reading is not");
        let other = dir.path().join(".a.cu.swp");
        std::fs::write(&other, "c").unwrap();
        quiet();
        std::fs::rename(&other, &file).unwrap();
        events.recv_timeout(wait).expect("a rename is told");
    }
}
