//! What has to be undone on this machine: written down before it is done, struck out after it was undone.

use super::answer::Failure;
use super::notebook::{self, ENDING, Notebook};
use super::request::Note;
use super::way_back;
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The notes of this agent; its file is made with the first one.
#[derive(Default)]
pub struct Notes(Mutex<Option<Notebook>>);

impl Notes {
    /// Writes a note down, durably; answers with the name of the file.
    pub fn add(&self, note: Note) -> Result<Value, Failure> {
        let mut own = self.own();
        let kept = match &mut *own {
            Some(kept) => kept,
            empty => empty.insert(Notebook::make(&notebook::directory()?)?),
        };
        kept.add(note)?;
        Ok(json!({"file": name(&kept.path)}))
    }

    /// Strikes a note out: one of ours, or of a dead owner's file. Says whether there was one.
    pub fn strike(&self, n: u64, file: Option<&str>) -> Result<Value, Failure> {
        let struck = match file {
            Some(file) => of_the_dead(file)?.map(|mut found| {
                let struck = found.strike(n);
                found.remove_if_empty();
                struck
            }),
            None => self.own().as_mut().map(|kept| kept.strike(n)),
        };
        Ok(json!({"struck": struck.transpose()?.unwrap_or(false)}))
    }

    /// Undoes all that is left, strikes out what worked, and removes the file where nothing is left in it.
    pub fn undo_all(&self) {
        let mut own = self.own();
        let Some(kept) = &mut *own else { return };
        for n in way_back::undone(&kept.notes) {
            let _ = kept.strike(n);
        }
        kept.remove_if_empty();
    }

    fn own(&self) -> MutexGuard<'_, Option<Notebook>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The notes that owners who are gone left on this machine.
pub fn left() -> Result<Value, Failure> {
    let directory = notebook::directory()?;
    let _locked = notebook::locked(&directory)?;
    let mut paths: Vec<_> = fs::read_dir(&directory)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .collect();
    paths.sort();
    let mut found: Vec<Value> = Vec::new();
    for path in paths {
        let Ok(Some(dead)) = Notebook::of_the_dead(&path) else {
            continue;
        };
        dead.remove_if_empty();
        let file = name(&path);
        found.extend(dead.notes.iter().map(|note| {
            let mut line = json!(note);
            line["file"] = json!(file);
            line["machine"] = json!(dead.owner.machine);
            line["names"] = json!(dead.owner.names);
            line["boot"] = json!(dead.owner.boot);
            line
        }));
    }
    Ok(json!({"left": found}))
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// A dead owner's file by its name in our directory; nothing where it is gone or its owner lives.
fn of_the_dead(file: &str) -> Result<Option<Notebook>, Failure> {
    if Path::new(file).components().count() != 1 || !file.ends_with(ENDING) {
        let text = format!("found {file:?}; expected the name of a file of notes");
        return Err(Failure::of_text(text));
    }
    match Notebook::of_the_dead(&notebook::directory()?.join(file)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => Ok(found?),
    }
}
