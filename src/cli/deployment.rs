//! Where a deployment comes from: compiled in, or read from a directory.

use super::{Failure, clock, compiled, encryption, output, signing, upstream};
use crate::compiler::ir::{Deployment, Source};
use crate::compiler::{self, Compiled, Fault, ManifestTimes, ReadOptions, Reading, Report, Severity, rules};
use crate::engine::Function;
use crate::handler::hotel;
use crate::identity::Agents;
use crate::registry::Registry;
use std::path::{Path, PathBuf};

/// What is served, for as long as the process runs.
pub(super) struct Deployed {
    pub(super) registry: &'static Registry,
    pub(super) agents: &'static Agents,
    pub(super) functions: Vec<Function>,
    /// The text of its agtp-server.toml; empty if it has none.
    pub(super) settings: String,
    /// What the files it names are relative to.
    pub(super) base: PathBuf,
    /// What to call that file in messages.
    pub(super) settings_origin: String,
    /// What the operator should know although it is no fault.
    pub(super) warnings: Vec<String>,
}

/// The file of a deployment's settings.
const SETTINGS: &str = "agtp-server.toml";

/// The deployment that was compiled in. Nothing is read, unless its settings name a key to sign the manifest with: that
/// is looked for in the working directory, since a private key is never compiled in.
/// An endpoint whose upstream needs a variable that is not set is left out (D25).
pub(super) fn compiled_in(strict: bool) -> Result<Deployed, Failure> {
    let settings =
        compiled::DOCUMENTS.iter().find(|(name, _)| *name == SETTINGS).map_or("", |(_, text)| text);
    if !upstream::has_variables(&compiled::REGISTRY) {
        let reading = compiler::read_documents(compiled::DOCUMENTS, &serving(&function_names()));
        let origin = "the compiled-in deployment";
        let (file, base, times) = (Path::new(SETTINGS), Path::new(""), compiled_times());
        return compile(reading, origin, strict, Settings { text: settings.to_owned(), file, base, times });
    }
    let registry = match signing::signer(settings, Path::new(""))? {
        None => &compiled::REGISTRY,
        Some(signer) => {
            let mut registry = compiled::REGISTRY.clone();
            compiler::sign_manifests(&mut registry, &signer).map_err(Failure::new)?;
            Box::leak(Box::new(registry))
        }
    };
    Ok(Deployed {
        registry,
        agents: &compiled::AGENTS,
        functions: compiled::functions(),
        settings: settings.to_owned(),
        base: PathBuf::new(),
        settings_origin: format!("{SETTINGS} (compiled in)"),
        warnings: Vec::new(),
    })
}

/// When the compiled-in deployment was issued and updated.
fn compiled_times() -> ManifestTimes {
    let manifest = compiled::REGISTRY.str(compiled::REGISTRY.documents.manifest);
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap_or_default();
    let time = |key: &str| manifest["server"][key].as_str().unwrap_or_default().to_owned();
    ManifestTimes { issued: time("issued"), updated: time("updated") }
}

/// The compiled-in documents under another agtp-server.toml. Settings reach into the tables (which methods are
/// admitted, what the manifest says), so the documents are compiled anew.
pub(super) fn compiled_in_under(file: &Path, strict: bool) -> Result<Deployed, Failure> {
    let settings = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    let catalog = catalog_beside(file, &settings)?;
    let catalog = catalog.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
    let replaced = |name: &str| name == SETTINGS || catalog.is_some_and(|(file, _)| file == name);
    let others = compiled::DOCUMENTS.iter().filter(|(name, _)| !replaced(name));
    let documents: Vec<_> = others.copied().chain([(SETTINGS, settings.as_str())]).chain(catalog).collect();
    let origin = file.display().to_string();
    let reading = compiler::read_documents(&documents, &serving(&function_names()));
    let mut times = compiled_times();
    // Both are written alike, so that the later one is the greater one.
    times.updated = times.updated.max(compiler::rfc3339(compiler::modified(file).unwrap_or(0)));
    let base = file.parent().unwrap_or(Path::new(""));
    compile(reading, &origin, strict, Settings { text: settings, file, base, times })
}

/// The catalog that settings name, from the directory of their file: its name and text. One that is not there may be
/// among what was compiled in.
fn catalog_beside(settings_file: &Path, settings: &str) -> Result<Option<(String, String)>, Failure> {
    // What is no TOML is reported when the settings are read.
    let settings: toml::Table = settings.parse().unwrap_or_default();
    let name = settings.get("catalog").and_then(|catalog| catalog.get("file")?.as_str());
    let Some(name) = name else { return Ok(None) };
    let file = settings_file.with_file_name(name);
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(Some((name.to_owned(), text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file(&file, &error)),
    }
}

/// The deployment of a directory. Faults are told on stderr and the valid rest is served (D25).
pub(super) fn from_directory(directory: &Path, strict: bool) -> Result<Deployed, Failure> {
    let reading = compiler::read(directory, &serving(&function_names()));
    let file = directory.join(SETTINGS);
    let settings = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::file(&file, &error)),
    };
    let times = ManifestTimes::of_directory(directory);
    let settings = Settings { text: settings, file: &file, base: directory, times };
    compile(reading, &directory.display().to_string(), strict, settings)
}

/// The manifest of a directory's deployment. Faults are told on stderr, and the valid rest is in it (D25).
pub(super) fn manifest(directory: &Path) -> Result<String, Failure> {
    let reading = compiler::read(directory, &ReadOptions::default());
    if let Some(why) = reading.unusable {
        return Err(Failure(why));
    }
    let deployment = reading.deployment.filter(|deployment| !deployment.endpoints.is_empty());
    if reading.report.errors() > 0 || deployment.is_none() {
        output::complain(format_args!("{}", reading.report));
    }
    let deployment =
        deployment.ok_or_else(|| Failure(format!("{} has no endpoint to export", directory.display())))?;
    let times = ManifestTimes::of_directory(directory);
    let compiled = compiler::lower(&deployment, &times).map_err(Failure::new)?;
    Ok(compiled.registry.str(compiled.registry.documents.manifest).to_owned())
}

/// The manifest that was compiled in.
pub(super) fn compiled_in_manifest() -> String {
    compiled::REGISTRY.str(compiled::REGISTRY.documents.manifest).to_owned()
}

/// Every fault of a directory's deployment, its signing key's included.
/// With `online`, those of upstreams out of reach too (D30).
pub(super) fn check(directory: &Path, online: bool) -> Result<Report, Failure> {
    let reading = compiler::read(directory, &options(&function_names()));
    if let Some(why) = reading.unusable {
        return Err(Failure(why));
    }
    let settings = std::fs::read_to_string(directory.join(SETTINGS)).unwrap_or_default();
    let mut faults = reading.report.faults;
    if let Err(Failure(why)) = signing::signer(&settings, directory) {
        let source = Source { file: SETTINGS.to_owned(), line: 0 };
        faults.push(Fault::new(
            &rules::SIGNING_KEY,
            source,
            why,
            "name a PKCS#8 PEM file, or leave [signing] out",
        ));
    }
    match encryption::Settings::of(&settings, SETTINGS, directory) {
        Ok(encryption) => faults.extend(encryption.faults(SETTINGS, clock::unix_seconds())),
        // Of the settings themselves the compiler has told.
        Err(_) if faults.iter().any(|fault| fault.source.file == SETTINGS) => {}
        Err(Failure(why)) => return Err(Failure(why)),
    }
    if online && let Some(deployment) = &reading.deployment {
        match upstream::roots(&settings, SETTINGS, directory) {
            Ok(roots) => faults.extend(upstream::unreachable(deployment, &roots)),
            Err(Failure(why)) => return Err(Failure(why)),
        }
    }
    Ok(Report::new(faults))
}

/// An agtp-server.toml and what goes with it.
struct Settings<'f> {
    text: String,
    file: &'f Path,
    /// What file names in it are relative to.
    base: &'f Path,
    times: ManifestTimes,
}

fn compile(
    reading: Reading,
    origin: &str,
    strict: bool,
    settings: Settings<'_>,
) -> Result<Deployed, Failure> {
    let deployment = accept(reading, origin, strict)?;
    let too_large = |error| Failure(format!("{origin}: {error}"));
    let Compiled { mut registry, agents, warnings, .. } =
        compiler::lower(&deployment, &settings.times).map_err(too_large)?;
    if let Some(signer) = signing::signer(&settings.text, settings.base)? {
        compiler::sign_manifests(&mut registry, &signer).map_err(too_large)?;
    }
    // Made once for each process and used until it ends, like what is compiled in.
    Ok(Deployed {
        registry: Box::leak(Box::new(registry)),
        agents: Box::leak(Box::new(agents)),
        functions: hotel::functions(),
        settings: settings.text,
        base: settings.base.to_owned(),
        settings_origin: settings.file.display().to_string(),
        warnings,
    })
}

/// What can be served of what was read.
fn accept(reading: Reading, origin: &str, strict: bool) -> Result<Deployment, Failure> {
    if let Some(why) = reading.unusable {
        return Err(Failure(why));
    }
    let report = &reading.report;
    if let (None, Some(fault)) = (&reading.deployment, only_error(report)) {
        return Err(fault);
    }
    if !report.faults.is_empty() {
        output::complain(format_args!("{report}"));
    }
    let left_out = reading.left_out.iter().map(ToString::to_string).collect::<Vec<_>>();
    match reading.deployment {
        None => Err(Failure(format!("{origin} cannot be served: its configuration is at fault, see above"))),
        Some(_) if strict && report.errors() > 0 => {
            Err(Failure(format!("{origin} has faults, see above; without --strict the valid rest is served")))
        }
        Some(deployment) => {
            if !left_out.is_empty() {
                output::complain(format_args!("left out: {}", left_out.join(", ")));
            }
            Ok(deployment)
        }
    }
}

/// The error of a report that has no other, in one line.
fn only_error(report: &Report) -> Option<Failure> {
    let mut errors = report.faults.iter().filter(|fault| fault.severity == Severity::Error);
    let (fault, None) = (errors.next()?, errors.next()) else { return None };
    let Source { file, line } = &fault.source;
    Some(Failure(format!("{file}:{line}: {}; {}", fault.message, fault.remedy)))
}

fn function_names() -> Vec<&'static str> {
    hotel::functions().iter().map(Function::name).collect()
}

/// How to read what is about to be served: here the environment is the one that counts.
fn serving<'o>(names: &'o [&'o str]) -> ReadOptions<'o> {
    ReadOptions { has_variable: Some(upstream::has_variable), ..options(names) }
}

fn options<'o>(names: &'o [&'o str]) -> ReadOptions<'o> {
    ReadOptions { known_functions: Some(names), ..ReadOptions::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
    }

    fn documents() -> Vec<(String, String)> {
        let mut documents = Vec::new();
        for directory in ["endpoints", "agents", "."] {
            for entry in std::fs::read_dir(repository().join(directory)).unwrap().flatten() {
                let name = entry.file_name().into_string().unwrap();
                let name = if directory == "." { name } else { format!("{directory}/{name}") };
                if name.contains('/') || [SETTINGS, "agtp-recipes.toml"].contains(&name.as_str()) {
                    documents.push((name, std::fs::read_to_string(entry.path()).unwrap()));
                }
            }
        }
        documents
    }

    #[test]
    fn the_sample_deployment_has_no_faults() {
        let report = check(repository(), false).unwrap();
        assert!(report.faults.is_empty(), "{report}");
    }

    #[test]
    fn the_same_documents_in_memory_are_the_same_deployment() {
        let documents = documents();
        let documents: Vec<_> = documents.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let names = function_names();
        let in_memory = compiler::read_documents(&documents, &options(&names));
        let on_disk = compiler::read(repository(), &options(&names));
        assert_eq!(in_memory.report, on_disk.report);
        let shown = |reading: Reading| {
            let deployment = reading.deployment.unwrap();
            format!("{:?} {:?} {:?}", deployment.settings, deployment.endpoints, deployment.agents)
        };
        assert_eq!(shown(in_memory), shown(on_disk));
    }

    #[test]
    fn a_deployment_is_signed_with_its_key_and_a_restart_changes_nothing() {
        let dir = std::env::temp_dir().join(format!("agtp-signed-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(SETTINGS), "[signing]\nkey = \"main.pem\"\nkey_id = \"main\"\n").unwrap();
        let report = check(&dir, false).unwrap();
        assert!(report.faults.iter().any(|fault| fault.code == "signing-key"), "{report}");
        let Failure(message) = from_directory(&dir, false).err().unwrap();
        assert!(message.contains("main.pem") && !message.contains('\n'), "{message}");
        let key = signing::new_private_key(&dir.join("main.pem")).unwrap().public();
        assert_eq!(check(&dir, false).unwrap().errors(), 0);
        let manifest =
            |deployed: &Deployed| deployed.registry.str(deployed.registry.documents.manifest).to_owned();
        let first = manifest(&from_directory(&dir, false).unwrap());
        let options = compiler::ManifestOptions { key: Some(&key), anonymous: true };
        let report = compiler::check_manifest(&first, &options);
        assert_eq!((report.errors(), report.signature.as_str()), (0, "verified"), "{report}");
        assert_eq!(manifest(&from_directory(&dir, false).unwrap()), first);
        // The compiled-in documents under these settings are signed too.
        let under = compiled_in_under(&dir.join(SETTINGS), true).unwrap();
        assert_eq!(compiler::check_manifest(&manifest(&under), &options).signature.as_str(), "verified");
        let pem = std::fs::read_to_string(dir.join("main.pem")).unwrap();
        assert!(!under.registry.text.contains(pem.lines().nth(1).unwrap()));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_is_compiled_in_has_a_sound_manifest() {
        let deployed = compiled_in(true).unwrap();
        let manifest = deployed.registry.str(deployed.registry.documents.manifest);
        let report = compiler::check_manifest(manifest, &compiler::ManifestOptions::default());
        assert_eq!(report.errors(), 0, "{report}");
        assert!(compiled_times().issued <= compiled_times().updated);
        // Nothing of a handler but its type is in the bytes.
        for function in &deployed.functions {
            assert!(!manifest.contains(function.name), "{}", function.name);
        }
    }

    #[test]
    fn configuration_faults_and_strictness_refuse() {
        let documents = [(SETTINGS, "[policies\n")];
        let Failure(message) =
            accept(compiler::read_documents(&documents, &options(&[])), "here", false).err().unwrap();
        assert!(message.starts_with("agtp-server.toml:1: ") && !message.contains('\n'), "{message}");
        let documents = [(SETTINGS, "[limits]\nbody_bytes = 0\njson_depth = 0\n")];
        let Failure(message) =
            accept(compiler::read_documents(&documents, &options(&[])), "here", false).err().unwrap();
        assert!(message.contains("here cannot be served"), "{message}");
        let documents = [("endpoints/a.toml", "[endpoint]\nmethod = \"FIND\"\n")];
        let read = || compiler::read_documents(&documents, &options(&[]));
        assert!(accept(read(), "here", false).unwrap().endpoints.is_empty());
        let Failure(message) = accept(read(), "here", true).err().unwrap();
        assert!(message.contains("--strict"), "{message}");
    }
}
