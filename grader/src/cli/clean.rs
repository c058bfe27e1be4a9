//! The command `grader clean`.

use super::args::CleanArgs;
use super::console;
use crate::storage::{self, StoredItem, in_words};
use diagnostic::Failure;
use std::path::Path;
use toolchain::env::Env;

pub(super) fn run(args: &CleanArgs) -> Result<(), Failure> {
    let Some(cache) = Env::current().cache_folder() else {
        console::print("The grader keeps nothing on this machine: HOME is not set.\n");
        return Ok(());
    };
    let kept = storage::stored_items(&cache);
    if kept.is_empty() {
        console::print(&format!("The grader keeps nothing in {}.\n", cache.display()));
    } else if args.yes {
        storage::remove(&cache, &kept)?;
        let bytes = in_words(total(&kept));
        console::print(&format!("Removed {bytes} from {}.\n", cache.display()));
    } else {
        console::print(&page(&cache, &kept));
    }
    Ok(())
}

fn total(kept: &[StoredItem]) -> u64 {
    kept.iter().map(|item| item.bytes).sum()
}

fn page(cache: &Path, kept: &[StoredItem]) -> String {
    let line = |bytes: u64, what: &str| format!("  {:>9}  {what}\n", in_words(bytes));
    let lines = kept.iter().filter(|item| item.bytes > 0).map(|item| {
        let name = item.path.file_name().unwrap_or_default().to_string_lossy();
        line(item.bytes, &format!("{name}: {}", item.what))
    });
    let lines: String = lines.collect();
    let sum = line(total(kept), "in all");
    format!(
        "In {} the grader keeps\n\n{lines}{sum}\n\
         `grader clean --yes` removes all of it. Your kernels and your progress are in the workbook and\n\
         stay there. To remove the grader itself, run `cargo uninstall grader`.\n",
        cache.display(),
    )
}
