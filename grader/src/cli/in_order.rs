//! Does several pieces of work at once, and handles their results one after the other, in the order of the pieces.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread::{self, Builder};

/// Computes `work` of each item on `threads` threads, and calls `handle` on this one with each item, in their order, and a function
/// that waits for its result. If `handle` breaks or fails, no further item begins; the results of those that have begun are dropped.
///
/// With no threads, or where the system gives none, `work` is done on this thread, when the result is waited for.
///
/// # Errors
/// That of `handle`.
pub(super) fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    mut handle: impl FnMut(&T, &mut dyn FnMut() -> R) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        let (next, work) = (&next, &work);
        for _ in 0..threads.min(items.len()) {
            let sender = sender.clone();
            let take = move || loop {
                let index = next.fetch_add(1, Relaxed);
                let Some(item) = items.get(index) else { return };
                // After a break nobody receives.
                if sender.send((index, work(item))).is_err() {
                    return;
                }
            };
            Builder::new().name("test".into()).spawn_scoped(scope, take).ok();
        }
        drop(sender);
        let mut early = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            let mut wait = || loop {
                if let Some(result) = early.remove(&index) {
                    return result;
                }
                let Ok((index, result)) = results.recv() else { return work(item) };
                early.insert(index, result);
            };
            let handled = handle(item, &mut wait);
            if !matches!(handled, Ok(ControlFlow::Continue(()))) {
                next.store(items.len(), Relaxed);
                return handled.map(|_| ());
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, Mutex};
    use std::time::Duration;

    const ON: Result<ControlFlow<()>, &str> = Ok(ControlFlow::Continue(()));

    #[test]
    fn results_come_in_order_though_later_ones_are_ready_first() {
        // The first item ends only when the second one has, on the other thread.
        let second_done = Barrier::new(2);
        let work = |&item: &usize| {
            if item < 2 {
                second_done.wait();
            }
            item * 10
        };
        let mut handled = Vec::new();
        let ended = in_order(&[0, 1, 2, 3, 4], 2, work, |item, wait| {
            handled.push((*item, wait()));
            ON
        });
        assert_eq!(ended, Ok(()));
        assert_eq!(handled, [(0, 0), (1, 10), (2, 20), (3, 30), (4, 40)]);
    }

    #[test]
    fn without_threads_each_item_begins_after_the_one_before_is_handled() {
        let log = Mutex::new(Vec::new());
        let note = |words: String| log.lock().unwrap().push(words);
        let work = |item: &char| note(format!("work {item}"));
        let ended = in_order(&['a', 'b', 'c'], 0, work, |item, wait| {
            wait();
            note(format!("handle {item}"));
            if *item == 'b' { Err("no more") } else { ON }
        });
        assert_eq!(ended, Err("no more"));
        assert_eq!(*log.lock().unwrap(), ["work a", "handle a", "work b", "handle b"]);
    }

    #[test]
    fn after_a_break_no_item_begins() {
        let begun = AtomicUsize::new(0);
        // Ten seconds of work, if nothing stopped it.
        let work = |_: &usize| {
            begun.fetch_add(1, Relaxed);
            thread::sleep(Duration::from_millis(1));
        };
        let ended = in_order(&vec![0; 20_000], 2, work, |_, wait| {
            wait();
            Ok::<_, ()>(ControlFlow::Break(()))
        });
        assert_eq!(ended, Ok(()));
        assert!(begun.load(Relaxed) < 20_000, "{begun:?}");
    }
}
