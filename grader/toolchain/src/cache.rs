//! A store of byte strings on disk under hashed keys.
//!
//! It can only ever save time: an entry is checked against its own hash when read, written under another name first,
//! and any failure to read or write is the same as a miss.

use blake3::{Hash, Hasher};
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Part of every key: raise it when the meaning of entries changes.
const FORMAT: &str = "gradient-puzzles cache 1";

/// Bytes on disk above which the entries that were unused for longest go.
const MAX_BYTES: u64 = 256 << 20;

/// One in so many writes looks at the size of the folder.
const SWEEP_EVERY: u8 = 32;

/// The name of an entry: a hash of all that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(Hash);

impl Key {
    /// Hashes the parts; `["ab", "c"]` and `["a", "bc"]` differ.
    pub fn of<'a>(kind: &'a str, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Hasher::new();
        for part in [FORMAT.as_bytes(), kind.as_bytes()].into_iter().chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Self(hasher.finalize())
    }

    /// The key as a file's name.
    pub fn hex(&self) -> String {
        self.0.to_hex().to_string()
    }

    /// The key's 32 bytes, for keys made of keys.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Byte strings on disk, each under its key.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    max_bytes: u64,
}

impl Cache {
    /// A store in `folder`, which is made at the first write.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, max_bytes: MAX_BYTES }
    }

    /// Where the entries lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The bytes that were put under this key, if they are all there.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let mut file = File::open(self.path(key)).ok()?;
        let mut entry = Vec::new();
        file.read_to_end(&mut entry).ok()?;
        let (hash, bytes) = entry.split_at_checked(32)?;
        if blake3::hash(bytes).as_bytes() != hash {
            return None;
        }
        // The time of last use. Where it cannot be set, the entry goes a little early.
        let _ = file.set_modified(SystemTime::now());
        entry.drain(..32);
        Some(entry)
    }

    /// Keeps bytes under a key.
    ///
    /// # Errors
    /// The folder cannot be written; the store is as it was before.
    pub fn put(&self, key: &Key, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        file.write_all(blake3::hash(bytes).as_bytes())?;
        file.write_all(bytes)?;
        file.persist(&path)?;
        if key.as_bytes()[31].is_multiple_of(SWEEP_EVERY) {
            self.sweep();
        }
        Ok(())
    }

    /// The bytes that all entries take on disk.
    pub fn size(&self) -> u64 {
        self.entries().iter().map(|e| e.bytes).sum()
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name = key.hex();
        self.folder.join(&name[..2]).join(&name[2..])
    }

    /// Removes the entries used longest ago until a quarter of the room is free again.
    fn sweep(&self) {
        let mut entries = self.entries();
        let mut bytes: u64 = entries.iter().map(|e| e.bytes).sum();
        if bytes <= self.max_bytes {
            return;
        }
        entries.sort_by_key(|e| e.used);
        for entry in entries {
            if bytes <= self.max_bytes / 4 * 3 {
                break;
            }
            // Another grader may have removed it first.
            let _ = fs::remove_file(&entry.path);
            bytes -= entry.bytes;
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let list = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        list(&self.folder)
            .flat_map(|shelf| list(&shelf.path()))
            .filter_map(|e| Entry::of(&e))
            .collect()
    }
}

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl Entry {
    fn of(entry: &fs::DirEntry) -> Option<Self> {
        let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Self { path: entry.path(), bytes: meta.len(), used: meta.modified().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn key(name: &str) -> Key {
        Key::of("test", [name.as_bytes()])
    }

    #[test]
    fn gives_back_what_was_put() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path().join("not/there/yet"));
        assert_eq!(cache.get(&key("a")), None);
        cache.put(&key("a"), b"one").unwrap();
        cache.put(&key("b"), b"").unwrap();
        cache.put(&key("a"), b"two").unwrap();
        assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"two"[..]));
        assert_eq!(cache.get(&key("b")).as_deref(), Some(&b""[..]));
    }

    #[test]
    fn damaged_entries_are_misses() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path().into());
        cache.put(&key("a"), b"some bytes").unwrap();
        let path = cache.path(&key("a"));
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[40] ^= 1;
        for damaged in [&flipped[..], &whole[..whole.len() - 1], &whole[..20], b""] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.get(&key("a")), None);
        }
        fs::write(&path, whole).unwrap();
        assert!(cache.get(&key("a")).is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let cache = Cache::new(file.join("cache"));
        assert!(cache.put(&key("a"), b"x").is_err());
        assert_eq!(cache.get(&key("a")), None);
    }

    #[test]
    fn keys_depend_on_every_part_and_on_where_it_ends() {
        let of = |parts: &[&str]| Key::of("test", parts.iter().map(|p| p.as_bytes()));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["ab", "c"]), of(&["ab", "c", ""]));
        assert_ne!(Key::of("x", []), Key::of("y", []));
    }

    #[test]
    fn the_oldest_entries_go_first() {
        let dir = tempfile::tempdir().unwrap();
        let mut cache = Cache::new(dir.path().into());
        for i in 0..20_u64 {
            let key = key(&i.to_string());
            cache.put(&key, &[0; 1000]).unwrap();
            let used = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + i);
            File::open(cache.path(&key)).unwrap().set_modified(used).unwrap();
        }
        assert!(cache.get(&key("0")).is_some());
        cache.max_bytes = 10_000;
        cache.sweep();
        assert!(cache.size() <= 7_500, "{}", cache.size());
        assert!(cache.get(&key("19")).is_some());
        assert!(cache.get(&key("1")).is_none());
        assert!(cache.get(&key("0")).is_some(), "it was used last");
    }
}
