//! The files of a deployment: a directory's, or documents in memory.

use super::document::Faults;
use crate::compiler::fault::Rule;
use crate::compiler::ir::Source;
use crate::compiler::rules;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A deployment's files. What cannot be read is reported; what is not there is not.
#[derive(Debug)]
pub(super) struct Tree<'r> {
    pub(super) origin: Origin<'r>,
    pub(super) faults: &'r Faults,
}

/// Where the files are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'r> {
    /// In this directory.
    Directory(&'r Path),
    /// In memory: names relative to the deployment, and texts.
    Documents(&'r BTreeMap<&'r str, &'r str>),
}

impl Origin<'_> {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match self {
            Origin::Directory(root) => read_regular(&root.join(name)),
            Origin::Documents(documents) => {
                let found = documents.get(name);
                found.map(|text| text.as_bytes().to_vec()).ok_or_else(|| ErrorKind::NotFound.into())
            }
        }
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        match self {
            Origin::Directory(root) => list(&root.join(directory)),
            Origin::Documents(documents) => {
                let within = |name: &str| name.strip_prefix(directory)?.strip_prefix('/').map(str::to_owned);
                Ok(documents.keys().filter_map(|name| within(name)).collect())
            }
        }
    }
}

impl Tree<'_> {
    /// The directory; nowhere if the files are in memory.
    pub(super) fn root(&self) -> PathBuf {
        match self.origin {
            Origin::Directory(root) => root.to_owned(),
            Origin::Documents(_) => PathBuf::new(),
        }
    }

    /// The text of a file, by its path relative to the deployment.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.origin.read(name) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Some(text),
                Err(error) => {
                    let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or(&[]);
                    let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count() as u32;
                    self.fault(&rules::NOT_UTF8, name, line, "the file is not UTF-8", "save it as UTF-8");
                    None
                }
            },
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                self.unreadable(name, &error);
                None
            }
        }
    }

    /// The names of the files in a directory that end so, sorted, as paths relative to the deployment. Hidden files are
    /// an editor's business. Nothing if there is no such directory.
    pub(super) fn names(&self, directory: &str, suffix: &str) -> Option<Vec<String>> {
        match self.origin.list(directory) {
            Ok(mut names) => {
                names.retain(|name| name.ends_with(suffix) && !name.starts_with('.'));
                names.sort();
                Some(names.into_iter().map(|name| format!("{directory}/{name}")).collect())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                self.unreadable(directory, &error);
                None
            }
        }
    }

    fn unreadable(&self, name: &str, error: &io::Error) {
        let message = format!("cannot be read: {error}");
        self.fault(&rules::UNREADABLE_FILE, name, 0, message, "make it readable, or remove it");
    }

    fn fault(&self, rule: &Rule, name: &str, line: u32, message: impl Into<String>, help: &str) {
        self.faults.add(rule, Source { file: name.to_owned(), line }, message, help);
    }
}

/// Why a directory cannot be a deployment.
pub(super) fn unusable(root: &Path) -> Option<String> {
    let error = list(root).err()?;
    let shown = root.display();
    Some(match error.kind() {
        ErrorKind::NotFound => format!("{shown}: no such directory"),
        ErrorKind::NotADirectory => format!("{shown}: not a directory"),
        _ => format!("{shown}: cannot be read: {error}"),
    })
}

/// Only regular files: a pipe among them would be waited for.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    std::fs::read(path)
}

/// The names in a directory. One that is not Unicode cannot end in any suffix that is looked for with certainty, and is
/// shown as it can be.
fn list(path: &Path) -> io::Result<Vec<String>> {
    std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}
