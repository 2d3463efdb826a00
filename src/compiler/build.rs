//! Compiles a deployment in a build script.

use super::emit::{emit, emit_documents};
use super::{ManifestTimes, ReadOptions, Reading, lower, read};
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file that [`include_registry!`](crate::include_registry) includes, in `OUT_DIR`.
const OUTPUT: &str = "agtp_registry.rs";

/// Compiles the deployment in `dir` (relative to the package) into what [`include_registry!`](crate::include_registry)
/// includes. For build scripts only: a fault ends the process with the report of all faults on its standard error,
/// which fails the build; warnings are passed on.
///
/// The `main` of a `build.rs` is one line:
///
/// ```no_run
/// agtp::compiler::build("deployment");
/// ```
///
/// A deployment is a directory with `endpoints/` in it, and perhaps `agtp-server.toml`, `agtp-recipes.toml` and `agents/`.
/// The path of the `endpoints` folder itself names the deployment it lies in.
pub fn build(dir: impl AsRef<Path>) {
    let dir = &deployment_of(dir.as_ref());
    if let Err(reason) = try_build(dir) {
        eprintln!("{reason}");
        let summary = reason.lines().last().unwrap_or_default();
        println!("cargo::error={}: {summary}; the whole report is below", dir.display());
        std::process::exit(1);
    }
}

/// The deployment that a path names: itself, or the parent of an `endpoints` folder.
fn deployment_of(dir: &Path) -> PathBuf {
    let is_endpoints =
        dir.file_name().is_some_and(|name| name == "endpoints") && !dir.join("endpoints").is_dir();
    match dir.parent() {
        Some(parent) if is_endpoints && parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) if is_endpoints => parent.to_owned(),
        _ => dir.to_owned(),
    }
}

fn try_build(dir: &Path) -> Result<(), String> {
    let files = watch(dir);
    let Reading { deployment, report, unusable, .. } = read(dir, &ReadOptions::default());
    if let Some(unusable) = unusable {
        return Err(unusable);
    }
    let deployment = match deployment {
        Some(deployment) if report.errors() == 0 => deployment,
        _ => return Err(report.to_string()),
    };
    let compiled = lower(&deployment, &times()).map_err(|error| error.to_string())?;
    let warnings = report.faults.iter().map(ToString::to_string).chain(compiled.warnings.iter().cloned());
    warnings.for_each(|warning| print_warning(&warning));
    let source = emit(&compiled) + &emit_documents(&files);
    let out_dir = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: build() is for build scripts")?;
    let output = Path::new(&out_dir).join(OUTPUT);
    fs::write(&output, source).map_err(|error| format!("{}: cannot be written: {error}", output.display()))
}

/// Cargo takes one line per warning.
fn print_warning(warning: impl Display) {
    let warning = warning.to_string();
    println!("cargo::warning={}", warning.split('\n').map(str::trim).collect::<Vec<_>>().join(" "));
}

/// Tells Cargo what the deployment is made of, and returns its files: names relative to it, and absolute paths.
///
/// A missing settings file is watched too, which makes Cargo run the build script every time: a policy that is added
/// later must not go unnoticed.
fn watch(dir: &Path) -> Vec<(String, String)> {
    let mut names = vec!["agtp-server.toml".to_owned(), "agtp-recipes.toml".to_owned()];
    names.extend(catalog_file(dir));
    let settings = dir.join("agtp-server.toml");
    if !settings.exists() {
        println!("cargo::rerun-if-changed={}", settings.display());
    }
    for (directory, suffixes) in
        [("endpoints", &[".toml"][..]), ("agents", &[".agent.json", ".genesis.json"][..])]
    {
        if let Ok(listed) = list(&dir.join(directory), suffixes) {
            println!("cargo::rerun-if-changed={}", dir.join(directory).display());
            names.extend(listed.into_iter().map(|name| format!("{directory}/{name}")));
        }
    }
    let file = |name: String| {
        let path = fs::canonicalize(dir.join(&name)).ok().filter(|path| path.is_file())?;
        println!("cargo::rerun-if-changed={}", path.display());
        Some((name, path.to_str()?.to_owned()))
    };
    names.into_iter().filter_map(file).collect()
}

/// `[catalog] file`. A settings file that cannot be read is [`read`]'s to report.
fn catalog_file(dir: &Path) -> Option<String> {
    let settings = fs::read_to_string(dir.join("agtp-server.toml")).ok()?;
    let settings: toml::Table = settings.parse().ok()?;
    Some(settings.get("catalog")?.get("file")?.as_str()?.to_owned())
}

fn list(dir: &Path, suffixes: &[&str]) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    names.retain(|name| !name.starts_with('.') && suffixes.iter().any(|suffix| name.ends_with(suffix)));
    names.sort();
    Ok(names)
}

/// Now, or `SOURCE_DATE_EPOCH` where builds are to be reproducible.
fn times() -> ManifestTimes {
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let time = rfc3339(fixed.unwrap_or_else(now));
    ManifestTimes { issued: time.clone(), updated: time }
}

/// A time in seconds since the Unix epoch as RFC 3339, UTC. The calendar repeats every 400 years; counting each from
/// March puts the leap day last.
fn rfc3339(seconds: u64) -> String {
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
}
