//! Compiles a deployment in a build script.

use super::emit::{emit, emit_documents};
use super::times::document_names;
use super::{ManifestTimes, ReadOptions, Reading, lower, read};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

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
    let compiled = lower(&deployment, &times(dir)).map_err(|error| error.to_string())?;
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

/// Tells Cargo what the deployment is made of, and returns its files: names relative to it, and absolute paths. A signing
/// key is none of them: what is signed is signed when it is served.
///
/// A missing settings file is watched too, which makes Cargo run the build script every time: a policy that is added
/// later must not go unnoticed.
fn watch(dir: &Path) -> Vec<(String, String)> {
    let settings = dir.join("agtp-server.toml");
    if !settings.exists() {
        println!("cargo::rerun-if-changed={}", settings.display());
    }
    for directory in ["endpoints", "agents"].map(|name| dir.join(name)).iter().filter(|path| path.is_dir()) {
        println!("cargo::rerun-if-changed={}", directory.display());
    }
    let file = |name: String| {
        let path = fs::canonicalize(dir.join(&name)).ok().filter(|path| path.is_file())?;
        println!("cargo::rerun-if-changed={}", path.display());
        Some((name, path.to_str()?.to_owned()))
    };
    document_names(dir).into_iter().filter_map(file).collect()
}

/// Those of the files, or `SOURCE_DATE_EPOCH` where builds are to be reproducible.
fn times(dir: &Path) -> ManifestTimes {
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    fixed.map_or_else(|| ManifestTimes::of_directory(dir), ManifestTimes::at)
}
