//! `agtp import-openapi`: an OpenAPI document to a deployment in front of the service it describes.

use super::files::Staged;
use super::{Failure, output};
use crate::openapi::{Import, ImportOptions, MOST_BYTES, Report, Stage, import};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `agtp import-openapi`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
OpenAPI 3.0 and 3.1 are read, JSON and YAML, in one document. Each operation becomes one file in DIR/endpoints, bound to
the service as an external_service. Wherever judgement is needed the file says `# REVIEW:`; what cannot be mapped is
listed with the reason. agtp-server.toml is written if DIR has none. Nothing is written unless all of it can be.

Exit code: 0 imported, 1 with --strict and something to review or left out (nothing is written then), 2 nothing to import.

Examples:
  agtp import-openapi petstore.yaml --output petstore --base-url https://petstore.example/v3
  agtp check petstore
  agtp serve --deployment petstore")]
pub(super) struct Args {
    /// The document: a file, or - for stdin
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// The deployment's directory; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The service's address, instead of the one the document names
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Fail, and write nothing, if anything wants a review or is left out
    #[arg(long)]
    strict: bool,
    /// Overwrite endpoint files that are there already
    #[arg(long)]
    force: bool,
    /// Print the whole report for machines
    #[arg(long)]
    json: bool,
}

const SETTINGS: &str = "agtp-server.toml";

/// Runs `agtp import-openapi`.
pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let document = read(&args.spec)?;
    let settings = match std::fs::read_to_string(args.output.join(SETTINGS)) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(Failure::file(&args.output.join(SETTINGS), &error)),
    };
    let source = args.spec.file_name().map_or("stdin".into(), |name| name.to_string_lossy());
    let options =
        ImportOptions { source: &source, base_url: args.base_url.as_deref(), settings: settings.as_deref() };
    let bar = bar();
    let imported = import(&document, &options, &mut |stage| show(&bar, stage));
    bar.finish_and_clear();
    let imported = imported.map_err(|why| Failure(format!("{}: {why}", args.spec.display())))?;
    let refused = args.strict && !(imported.report.reviews.is_empty() && imported.report.left_out.is_empty());
    if !refused {
        write(&imported, &args)?;
    }
    tell(&imported.report, &args, refused)?;
    Ok(ExitCode::from(u8::from(refused)))
}

fn read(spec: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let limit = MOST_BYTES as u64 + 1;
    let read = if spec == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_string(&mut text)
    } else {
        std::fs::File::open(spec).and_then(|file| file.take(limit).read_to_string(&mut text))
    };
    read.map_err(|error| Failure::file(spec, &error))?;
    Ok(text)
}

/// A bar on stderr, if that is a terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    match ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn show(bar: &ProgressBar, stage: Stage) {
    match stage {
        Stage::Converted(done, total) => {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        }
        Stage::Checking => bar.set_message("checking"),
    }
}

fn write(imported: &Import, args: &Args) -> Result<(), Failure> {
    if imported.report.written.is_empty() {
        return Err(Failure("no operation can become an endpoint; --json says why of each".to_owned()));
    }
    let staged = Staged::new(&args.output)?;
    for (name, contents) in &imported.files {
        staged.add(name, contents)?;
    }
    staged.publish(args.force)
}

fn tell(report: &Report, args: &Args, refused: bool) -> Result<(), Failure> {
    if args.json {
        return output::print(format!("{}\n", report.to_json()).as_bytes());
    }
    let mut text = String::new();
    for note in &report.left_out {
        text.push_str(&format!("left out: {note}\n"));
    }
    // What every endpoint says is in its file only, unless nothing is written.
    let everywhere = |about: &str| matches!(about, "method" | "semantic") && !refused;
    for note in report.reviews.iter().filter(|note| !everywhere(note.about)) {
        text.push_str(&format!("review: {note}\n"));
    }
    let (written, operations) = (report.written.len(), report.operations);
    let (reviews, left_out) = (report.reviews.len(), report.left_out.len());
    text.push_str(&format!(
        "{written} of {operations} operations became endpoints, {left_out} left out, {reviews} points to review\n"
    ));
    let directory = args.output.display();
    if refused {
        text.push_str("nothing is written: --strict\n");
    } else {
        text.push_str(&format!(
            "written to {directory}; `grep -rn REVIEW {directory}` lists what to review\n"
        ));
        for variable in &report.variables {
            text.push_str(&format!("set {variable} before `agtp serve`\n"));
        }
    }
    output::print(output::visible(&text).as_bytes())
}
