//! A document to the files of a deployment.

use super::document::{Document, text};
use super::emit::{self, Settings, one_line};
use super::endpoint::{self, Endpoint, Whole};
use super::operation::{self, Operation};
use super::paths::Layout;
use super::report::{Note, Report, Written};
use super::schemas::Patterns;
use super::security::variable_part;
use super::servers;
use super::unique::Taken;
use crate::catalog::Catalog;
use crate::compiler::{ReadOptions, Severity, read_documents};
use std::collections::{BTreeSet, HashMap};

/// The file of a deployment's settings.
const SETTINGS: &str = "agtp-server.toml";

/// How to import.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions<'o> {
    /// What to call the document in the files: its name.
    pub source: &'o str,
    /// The upstream's address, instead of what the document says.
    pub base_url: Option<&'o str>,
    /// The deployment's `agtp-server.toml`, if it has one already: the endpoints are checked beside it.
    pub settings: Option<&'o str>,
}

/// How far an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// So many operations are converted, of so many.
    Converted(usize, usize),
    /// The compiler checks what came out.
    Checking,
}

/// What came of a document.
#[derive(Clone, Debug)]
pub struct Import {
    /// The deployment's files: names relative to it, and contents.
    pub files: Vec<(String, String)>,
    /// What became of each operation.
    pub report: Report,
}

/// Imports an OpenAPI document. The error is one line and says why nothing can be imported at all.
pub fn import(
    source: &str,
    options: &ImportOptions<'_>,
    progress: &mut dyn FnMut(Stage),
) -> Result<Import, String> {
    let document = Document::parse(source)?;
    let mut report = Report::default();
    let operations = operation::all(&document, &mut report.left_out);
    report.operations = operations.len() + report.left_out.len();
    let mut layout = Layout::default();
    operations.iter().for_each(|operation| layout.add(operation.path, operation.http));
    let info = document.block("info");
    let root = document.root.as_object().cloned().unwrap_or_default();
    let base = servers::of_document(&root, options.base_url)?;
    let (catalog, patterns) = (Catalog::builtin(), Patterns::default());
    let title = text(info, "title").unwrap_or("Imported API");
    let prefix = prefix(title);
    let version = version(text(info, "version"));
    let whole = Whole {
        document: &document,
        catalog: &catalog,
        layout: &layout,
        patterns: &patterns,
        base: &base,
        prefix: &prefix,
        version: &version,
    };
    let endpoints = convert(&whole, &operations, &mut report, progress);
    report.reviews.extend(base.review.iter().map(|review| document_note("url", review)));
    report.reviews.extend(beyond(&document));
    let variables: BTreeSet<_> =
        endpoints.iter().flat_map(|(_, endpoint)| endpoint.variables.iter().cloned()).collect();
    report.variables = variables.into_iter().collect();
    let settings = emit::settings(&Settings {
        title,
        version: &version,
        base: &base.url,
        documentation: text(super::document::members(root.get("externalDocs")), "url"),
        source: options.source,
        variables: &report.variables,
        reviews: report
            .reviews
            .iter()
            .filter(|note| note.operation.is_empty())
            .map(Note::to_string)
            .collect(),
    });
    progress(Stage::Checking);
    Ok(checked(endpoints, settings, options, report))
}

fn document_note(about: &'static str, message: &str) -> Note {
    Note { operation: String::new(), about, message: message.to_owned() }
}

/// What the environment variables of an API begin with.
fn prefix(title: &str) -> String {
    let prefix = variable_part(title);
    let prefix: String = prefix.chars().take(40).collect();
    let starts = prefix.starts_with(|letter: char| letter.is_ascii_alphabetic());
    if starts {
        prefix.trim_end_matches('_').to_owned()
    } else {
        format!("API_{prefix}").trim_end_matches('_').to_owned()
    }
}

/// The document's version as it may stand in a header.
fn version(version: Option<&str>) -> String {
    let sound = |version: &&str| version.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';');
    version.filter(sound).unwrap_or("1.0.0").to_owned()
}

/// Parts of a document that describe no operation of its own.
fn beyond(document: &Document) -> Vec<Note> {
    let webhooks = document.block("webhooks").len();
    let note = || {
        document_note(
            "",
            &format!("{webhooks} webhook(s) are requests to somebody else, and are not imported"),
        )
    };
    (webhooks > 0).then(note).into_iter().collect()
}

/// An endpoint for each operation that can have one, and the file it is written to.
fn convert(
    whole: &Whole<'_>,
    operations: &[Operation<'_>],
    report: &mut Report,
    progress: &mut dyn FnMut(Stage),
) -> Vec<(String, Endpoint)> {
    let mut taken = Taken::default();
    let mut endpoints = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        match endpoint::make(whole, operation) {
            Ok(mut endpoint) => {
                settle(&mut endpoint, &mut taken);
                callbacks(operation, &mut endpoint);
                endpoints.push((taken.file(&endpoint.choice.verb, &endpoint.path), endpoint));
            }
            Err(message) => {
                let message = one_line(&message);
                report.left_out.push(Note { operation: operation.title(), about: "", message });
            }
        }
        progress(Stage::Converted(index + 1, operations.len()));
    }
    endpoints
}

fn callbacks(operation: &Operation<'_>, endpoint: &mut Endpoint) {
    let number = super::document::members(operation.body.get("callbacks")).len();
    if number > 0 {
        endpoint
            .reviews
            .push(("url", format!("{number} callback(s) of the upstream are none of this endpoint's")));
    }
}

/// Gives an endpoint a place that no other has: another verb of those it may be, else a longer path.
fn settle(endpoint: &mut Endpoint, taken: &mut Taken) {
    if taken.take(&endpoint.choice.verb, &endpoint.path) {
        return;
    }
    let wanted = format!("{} {}", endpoint.choice.verb, endpoint.path);
    let alternatives = endpoint.choice.alternatives.clone();
    if let Some(verb) = alternatives.into_iter().find(|verb| taken.take(verb, &endpoint.path)) {
        endpoint.choice.verb = verb;
        return endpoint.reviews.push(("method", format!("{wanted} is another operation's already")));
    }
    let base = endpoint.path.trim_end_matches('/').to_owned();
    let free = (2..).map(|number| format!("{base}/variant-{number}"));
    if let Some(path) = free.into_iter().find(|path| taken.take(&endpoint.choice.verb, path)) {
        endpoint.path = path;
        endpoint
            .reviews
            .push(("path", format!("{wanted} is another operation's already, as are its other verbs")));
    }
}

/// The files, without those that the compiler would refuse.
fn checked(
    endpoints: Vec<(String, Endpoint)>,
    settings: String,
    options: &ImportOptions<'_>,
    mut report: Report,
) -> Import {
    let texts: Vec<_> =
        endpoints.iter().map(|(file, endpoint)| (file.clone(), emit::endpoint(endpoint))).collect();
    let mut documents: Vec<_> = texts.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    documents.push((SETTINGS, options.settings.unwrap_or(&settings)));
    let reading = read_documents(&documents, &ReadOptions::default());
    let mut faults: HashMap<&str, String> = HashMap::new();
    for fault in reading.report.faults.iter().filter(|fault| fault.severity == Severity::Error) {
        faults.entry(&fault.source.file).or_insert_with(|| format!("{} ({})", fault.message, fault.code));
    }
    let refused: HashMap<&str, String> = reading
        .left_out
        .iter()
        .map(|left| (left.source.file.as_str(), faults.remove(left.source.file.as_str()).unwrap_or_default()))
        .collect();
    let mut files = Vec::with_capacity(texts.len() + 1);
    for ((file, text), (_, endpoint)) in texts.into_iter().zip(endpoints) {
        if let Some(why) = refused.get(file.as_str()) {
            let message = format!("agtp check would refuse it: {}", one_line(why));
            report.left_out.push(Note { operation: endpoint.operation, about: "", message });
            continue;
        }
        let note = |(about, message): (&'static str, String)| {
            let message = one_line(&message);
            Note { operation: endpoint.operation.clone(), about, message }
        };
        report.reviews.extend(endpoint.reviews.into_iter().map(note));
        report.written.push(Written {
            operation: endpoint.operation,
            method: endpoint.choice.verb,
            path: endpoint.path,
            file: file.clone(),
        });
        files.push((file, text));
    }
    if options.settings.is_none() {
        files.push((SETTINGS.to_owned(), settings));
    }
    Import { files, report }
}
