//! The times of a manifest (draft: Server Block).

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// When a manifest was made; the compiler looks at no clock. RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestTimes {
    /// `server.issued`, unless the deployment configures one.
    pub issued: String,
    /// `server.updated`.
    pub updated: String,
}

impl ManifestTimes {
    /// Issued and updated at once, so many seconds after 1970.
    pub fn at(unix_seconds: u64) -> ManifestTimes {
        let time = rfc3339(unix_seconds);
        ManifestTimes { issued: time.clone(), updated: time }
    }

    /// Of a deployment directory: issued when the oldest of its files was written, updated when the newest was, or when
    /// one was added or removed. A restart changes neither; a deployment that wants `issued` to survive a move
    /// configures it.
    pub fn of_directory(dir: &Path) -> ManifestTimes {
        let of = |name: &String| modified(&dir.join(name));
        let files: Vec<_> = document_names(dir).iter().filter_map(of).collect();
        let directories = ["endpoints", "agents"].iter().filter_map(|name| modified(&dir.join(name)));
        let fallback = modified(dir).unwrap_or(0);
        ManifestTimes {
            issued: rfc3339(files.iter().copied().min().unwrap_or(fallback)),
            updated: rfc3339(files.iter().copied().chain(directories).max().unwrap_or(fallback)),
        }
    }
}

/// When a file or directory was last written to, in seconds since 1970.
pub fn modified(path: &Path) -> Option<u64> {
    let at = fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    Some(seconds(at))
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The files that a deployment may be made of, relative to it; the first three need not be there.
pub(super) fn document_names(dir: &Path) -> Vec<String> {
    let mut names = vec!["agtp-server.toml".to_owned(), "agtp-recipes.toml".to_owned()];
    names.extend(catalog_file(dir));
    for (directory, suffixes) in
        [("endpoints", &[".toml"][..]), ("agents", &[".agent.json", ".genesis.json"][..])]
    {
        names.extend(
            list(&dir.join(directory), suffixes).into_iter().map(|name| format!("{directory}/{name}")),
        );
    }
    names
}

/// `[catalog] file`. A settings file that cannot be read is [`read`](super::read)'s to report.
fn catalog_file(dir: &Path) -> Option<String> {
    let settings = fs::read_to_string(dir.join("agtp-server.toml")).ok()?;
    let settings: toml::Table = settings.parse().ok()?;
    Some(settings.get("catalog")?.get("file")?.as_str()?.to_owned())
}

fn list(dir: &Path, suffixes: &[&str]) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.') && suffixes.iter().any(|suffix| name.ends_with(suffix)));
    names.sort();
    names
}

/// A time in seconds since the Unix epoch as RFC 3339, UTC. The calendar repeats every 400 years; counting each from
/// March puts the leap day last.
pub fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
        }
    }

    #[test]
    fn a_directory_is_dated_by_its_files() {
        let dir = std::env::temp_dir().join(format!("agtp-times-{}", std::process::id()));
        fs::create_dir_all(dir.join("endpoints")).unwrap();
        let write = |name: &str, at: u64| {
            let path = dir.join(name);
            let _ = fs::File::create(&path).or_else(|_| fs::File::open(&path)).unwrap();
            let time = UNIX_EPOCH + std::time::Duration::from_secs(at);
            fs::File::open(&path).unwrap().set_modified(time).unwrap();
        };
        write("agtp-server.toml", 100_000);
        write("endpoints/a.toml", 300_000);
        write("endpoints/.swap.toml", 900_000);
        write("ed25519.pem", 900_000);
        write("endpoints", 200_000);
        let times = ManifestTimes::of_directory(&dir);
        assert_eq!(times, ManifestTimes { issued: rfc3339(100_000), updated: rfc3339(300_000) });
        assert_eq!(ManifestTimes::of_directory(&dir), times);
        fs::remove_file(dir.join("endpoints/a.toml")).unwrap();
        write("endpoints", 400_000);
        assert_eq!(ManifestTimes::of_directory(&dir).updated, rfc3339(400_000));
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(ManifestTimes::of_directory(&dir), ManifestTimes::at(0));
    }
}
