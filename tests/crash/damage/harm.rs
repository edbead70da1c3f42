//! Damage to the files of a store. Knows files; must not know their contents.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::rng::Rng;
use crate::written::written_length;

/// Damage to one file.
#[derive(Clone, Debug)]
pub(super) struct Harm {
    file: String,
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Truncate { at: u64 },
    Zero { at: u64, bytes: u64 },
    Flip { at: u64, bit: u32 },
    Swap { at: u64, with: u64, bytes: u64 },
    Remove,
    Replace(&'static str),
    MakeDirectory,
}

const ALL_AT_ONCE: [How; 4] = [How::Remove, How::Replace(""), How::Replace("not a store\n"), How::MakeDirectory];

/// Draws damages: all files removed or replaced if `sudden`, and `random` random ones.
pub(super) fn draw(store: &Path, seed: u64, sudden: bool, random: u64) -> Vec<Harm> {
    let entries = list(store, "");
    let each = entries.iter().filter(|_| sudden).flat_map(|(file, _)| ALL_AT_ONCE.map(|how| (file.clone(), how)));
    let mut harms: Vec<Harm> = each.map(|(file, how)| Harm { file, how }).collect();
    let mut rng = Rng::new(seed);
    let files: Vec<_> = entries.into_iter().filter(|(name, _)| store.join(name).is_file()).collect();
    harms.extend((0..random).map(|nth| draw_one(&files, nth, &mut rng)));
    harms
}

/// Lists files and directories, with the lengths of the files without the zeros at their ends.
fn list(store: &Path, under: &str) -> Vec<(String, u64)> {
    let mut found = vec![];
    for entry in fs::read_dir(store.join(under)).unwrap().map(|entry| entry.unwrap()) {
        let name = format!("{under}{}", entry.file_name().into_string().unwrap());
        if entry.path().is_dir() {
            found.extend(list(store, &format!("{name}/")));
            found.push((name, 0));
        } else {
            found.push((name, written_length(&fs::read(entry.path()).unwrap())));
        }
    }
    found.sort();
    found
}

/// Draws damage to the log, or to the largest file, three times in four, else to any file.
fn draw_one(files: &[(String, u64)], nth: u64, rng: &mut Rng) -> Harm {
    let files: Vec<_> = files.iter().filter(|(_, bytes)| *bytes > 0).collect();
    let other = files[usize::try_from(rng.below(files.len() as u64)).unwrap()];
    let log = *files.iter().max_by_key(|(_, bytes)| bytes).unwrap();
    let (file, length) = if nth.is_multiple_of(4) { other } else { log };
    let (at, with) = (rng.below(*length), rng.below(*length));
    let bytes = [1, 16, 600, 4096, 65_536][usize::try_from(rng.below(5)).unwrap()];
    let how = match rng.below(8) {
        0 | 1 => How::Truncate { at },
        2 | 3 => How::Zero { at: at / 512 * 512, bytes },
        4 => How::Swap { at, with, bytes },
        _ => How::Flip { at, bit: u32::try_from(rng.below(8)).unwrap() },
    };
    Harm { file: file.clone(), how }
}

impl Harm {
    /// Damages a store.
    pub(super) fn apply(&self, store: &Path) {
        let path = store.join(&self.file);
        match self.how {
            How::Remove if path.is_dir() => fs::remove_dir_all(path).unwrap(),
            How::Remove => fs::remove_file(path).unwrap(),
            How::Replace(text) => {
                let _ = fs::remove_dir_all(&path);
                fs::write(path, text).unwrap();
            }
            How::MakeDirectory if path.is_dir() => fs::write(path.join("7"), "a value").unwrap(),
            How::MakeDirectory => {
                fs::remove_file(&path).unwrap();
                fs::create_dir(path).unwrap();
            }
            How::Truncate { .. } | How::Zero { .. } | How::Flip { .. } | How::Swap { .. } => self.write(&path),
        }
    }

    fn write(&self, path: &Path) {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        let read = |at: u64, bytes: u64| {
            let mut read = vec![0; usize::try_from(bytes.min(length - at)).unwrap()];
            file.read_exact_at(&mut read, at).map(|()| read).unwrap()
        };
        match self.how {
            How::Truncate { at } => file.set_len(at).unwrap(),
            How::Zero { at, bytes } => file.write_all_at(&vec![0; read(at, bytes).len()], at).unwrap(),
            How::Flip { at, bit } => file.write_all_at(&[read(at, 1)[0] ^ (1 << bit)], at).unwrap(),
            How::Swap { at, with, bytes } => {
                let bytes = bytes.min(length - at.max(with));
                let (one, other) = (read(at, bytes), read(with, bytes));
                file.write_all_at(&other, at).and_then(|()| file.write_all_at(&one, with)).unwrap();
            }
            How::Remove | How::Replace(_) | How::MakeDirectory => {}
        }
    }
}
