//! Many files at once, or none.

use super::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that are whole on the disk before any of them is where it belongs. What is not published is removed.
#[derive(Debug)]
pub(super) struct Staged {
    target: PathBuf,
    stage: PathBuf,
    names: std::cell::RefCell<Vec<String>>,
}

impl Staged {
    /// Files for the directory `target`. They wait beside it, on the same file system.
    pub(super) fn new(target: &Path) -> Result<Staged, Failure> {
        let name = target.file_name().map_or("deployment".into(), |name| name.to_string_lossy());
        let parent = match target.parent() {
            Some(parent) if target.file_name().is_some() => parent,
            _ => target,
        };
        let stage = parent.join(format!(".{name}.{}.new", std::process::id()));
        let made = fs::create_dir_all(parent).and_then(|()| fs::create_dir(&stage));
        made.map_err(|error| Failure(format!("cannot write beside {}: {error}", target.display())))?;
        Ok(Staged { target: target.to_owned(), stage, names: Vec::new().into() })
    }

    /// Writes a file, by its name relative to the target.
    pub(super) fn add(&self, name: &str, contents: &str) -> Result<(), Failure> {
        let file = self.stage.join(name);
        let written =
            file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, contents));
        written.map_err(|error| Failure(format!("cannot write {name}: {error}; nothing was changed")))?;
        self.names.borrow_mut().push(name.to_owned());
        Ok(())
    }

    /// Moves all files to where they belong. Without `force` none of them may be there.
    pub(super) fn publish(self, force: bool) -> Result<(), Failure> {
        let names = self.names.borrow();
        let taken = names.iter().map(|name| self.target.join(name)).find(|file| file.exists());
        if let Some(taken) = taken.filter(|_| !force) {
            return Err(Failure(format!(
                "{} is there already; --force overwrites, another --output does not have to",
                taken.display()
            )));
        }
        // A directory that is not there yet is made at one stroke.
        if !self.target.exists() && fs::rename(&self.stage, &self.target).is_ok() {
            return Ok(());
        }
        for name in names.iter() {
            let file = self.target.join(name);
            let moved = file.parent().map_or(Ok(()), fs::create_dir_all);
            let moved = moved.and_then(|()| fs::rename(self.stage.join(name), &file));
            moved.map_err(|error| Failure(format!("cannot write {}: {error}", file.display())))?;
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // It is gone if it was published at one stroke.
        let _ = fs::remove_dir_all(&self.stage);
    }
}
