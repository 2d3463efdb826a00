//! Where lines end up: a file, or stderr.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// See the module's documentation.
pub(super) struct Sink {
    path: Option<PathBuf>,
    /// None for a FIFO that nobody reads.
    file: Option<File>,
    /// The last line is not whole.
    torn: bool,
}

/// How writing ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    /// Whole.
    All,
    /// So many bytes; more may go later.
    Some(usize),
    /// So many bytes; the rest has no place.
    Failed(usize),
}

impl Sink {
    /// Stderr, through a descriptor of our own: who panics meanwhile does not wait for its lock.
    pub(super) fn stderr() -> io::Result<Sink> {
        let file = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        Ok(Sink { path: None, file: Some(file), torn: false })
    }

    /// A file, to append to; it is made if there is none.
    pub(super) fn file(path: PathBuf) -> io::Result<Sink> {
        let mut sink = Sink { path: Some(path), file: None, torn: false };
        sink.reopen()?;
        Ok(sink)
    }

    /// Opens the file by its name again, which may by now be another file. When that fails the old one stays.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        // Without O_NONBLOCK, a FIFO that nobody reads would hold this up, and one that is full each write.
        let options = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o640)
            .custom_flags(libc::O_NONBLOCK)
            .open(path);
        self.file = match options {
            Ok(file) => Some(file),
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => None,
            Err(error) => return Err(error),
        };
        self.torn = false;
        Ok(())
    }

    /// Writes what goes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Wrote {
        if self.file.is_none() {
            // Somebody may read it by now.
            let _ = self.reopen();
        }
        let Some(file) = &mut self.file else { return Wrote::Some(0) };
        if self.torn {
            match file.write_all(b"\n") {
                Ok(()) => self.torn = false,
                Err(error) => return self.failed(0, &error),
            }
        }
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            match file.write(rest) {
                Ok(len) => done += len,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let whole = done == 0 || bytes.get(done - 1) == Some(&b'\n');
                    let wrote = self.failed(done, &error);
                    self.torn = !whole && matches!(wrote, Wrote::Failed(_));
                    return wrote;
                }
            }
        }
        Wrote::All
    }

    fn failed(&mut self, done: usize, error: &io::Error) -> Wrote {
        match error.kind() {
            ErrorKind::WouldBlock => return Wrote::Some(done),
            // A FIFO whose reader has gone: another may come.
            ErrorKind::BrokenPipe if self.path.is_some() => self.file = None,
            _ => {}
        }
        Wrote::Failed(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_place_is_told_and_the_next_line_begins_anew() {
        let mut full = Sink::file("/dev/full".into()).unwrap();
        assert_eq!(full.write(b"line\n"), Wrote::Failed(0));
        assert!(!full.torn);
        let path = std::env::temp_dir().join(format!("agtp-sink-{}", std::process::id()));
        let mut file = Sink::file(path.clone()).unwrap();
        assert_eq!(file.write(b"half a li"), Wrote::All);
        file.torn = true;
        assert_eq!(file.write(b"whole\n"), Wrote::All);
        assert_eq!(std::fs::read(&path).unwrap(), b"half a li\nwhole\n");
        std::fs::remove_file(&path).unwrap();
        file.reopen().unwrap();
        assert_eq!(file.write(b"other\n"), Wrote::All);
        assert_eq!(std::fs::read(&path).unwrap(), b"other\n");
        std::fs::remove_file(&path).unwrap();
    }
}
