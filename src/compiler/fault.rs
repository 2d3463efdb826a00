//! What is wrong with a deployment: faults, their rules, and the report that lists them all.

use super::ir::Source;
use serde_json::{Value, json};
use std::fmt;

/// How bad a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// What is concerned is not served, and a build fails.
    Error,
    /// Worth knowing; never changes an exit code (D32).
    Warning,
}

impl Severity {
    /// As it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A rule that faults refer to.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, in kebab-case: what `error[…]` shows.
    pub code: &'static str,
    /// Where it is laid down: a section of the draft, or a decision.
    pub basis: &'static str,
    /// How bad its violation is.
    pub severity: Severity,
    /// Whether a violation makes the whole deployment unusable (D25).
    pub configuration: bool,
}

/// Something wrong with a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub source: Source,
    /// Where the rule is laid down: `draft: Path Rules`, `D6`.
    pub rule: &'static str,
    /// Which rule, in kebab-case.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub remedy: String,
    /// How bad it is.
    pub severity: Severity,
    /// Whether the deployment cannot be served at all (D25).
    pub configuration: bool,
}

impl Fault {
    /// A violation of `rule`.
    pub fn new(rule: &Rule, source: Source, message: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault {
            source,
            rule: rule.basis,
            code: rule.code,
            message: message.into(),
            remedy: remedy.into(),
            severity: rule.severity,
            configuration: rule.configuration,
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "file": self.source.file,
            "line": self.source.line,
            "severity": self.severity.as_str(),
            "code": self.code,
            "rule": self.rule,
            "message": self.message,
            "help": self.remedy,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Source { file, line } = &self.source;
        match line {
            0 => write!(f, "{file}: ")?,
            line => write!(f, "{file}:{line}: ")?,
        }
        let (severity, code) = (self.severity.as_str(), self.code);
        write!(f, "{severity}[{code}]: {} ({})\n  help: {}", self.message, self.rule, self.remedy)
    }
}

/// All that is wrong with a deployment, by file and line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The faults.
    pub faults: Vec<Fault>,
}

impl Report {
    /// The report of these faults, put in order. Faults of one line keep theirs.
    pub fn new(mut faults: Vec<Fault>) -> Report {
        faults.sort_by(|a, b| (&a.source.file, a.source.line).cmp(&(&b.source.file, b.source.line)));
        Report { faults }
    }

    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.faults.iter().filter(|fault| fault.severity == Severity::Error).count()
    }

    /// Number of warnings.
    pub fn warnings(&self) -> usize {
        self.faults.len() - self.errors()
    }

    /// Whether some fault makes the whole deployment unusable (D25).
    pub fn has_configuration_faults(&self) -> bool {
        self.faults.iter().any(|fault| fault.configuration)
    }

    /// For machines: `{"faults": […], "errors": n, "warnings": n}`. Keys are only ever added.
    pub fn to_json(&self) -> Value {
        json!({
            "faults": self.faults.iter().map(Fault::to_json).collect::<Vec<_>>(),
            "errors": self.errors(),
            "warnings": self.warnings(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.faults {
            writeln!(f, "{fault}")?;
        }
        f.write_str(&summary(self.errors(), self.warnings()))
    }
}

/// The last line of a report.
pub(super) fn summary(errors: usize, warnings: usize) -> String {
    match (errors, warnings) {
        (0, 0) => "no faults".to_owned(),
        (0, _) => format!("no faults, {}", counted(warnings, "warning")),
        (_, 0) => counted(errors, "error"),
        _ => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
    }
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::rules;

    fn fault(rule: &Rule, file: &str, line: u32) -> Fault {
        let message = "segment \"book\" is the method name BOOK";
        Fault::new(rule, Source { file: file.to_owned(), line }, message, "rename the segment")
    }

    #[test]
    fn a_report_reads_like_a_compiler_s() {
        let report = Report::new(vec![
            fault(&rules::UNREADABLE_FILE, "z.toml", 0),
            fault(&rules::PATH_CARRIES_VERB, "endpoints/book-room.toml", 12),
        ]);
        let expected = "\
endpoints/book-room.toml:12: error[path-carries-verb]: segment \"book\" is the method name BOOK (draft: Path Rules)
  help: rename the segment
z.toml: error[unreadable-file]: segment \"book\" is the method name BOOK (D25)
  help: rename the segment
2 errors";
        assert_eq!(report.to_string(), expected);
        assert!(report.has_configuration_faults());
        assert_eq!(Report::default().to_string(), "no faults");
    }

    #[test]
    fn machines_get_the_same() {
        let report = Report::new(vec![fault(&rules::PATH_CARRIES_VERB, "a.toml", 3)]);
        let expected = json!({
            "faults": [{
                "file": "a.toml", "line": 3, "severity": "error", "code": "path-carries-verb",
                "rule": "draft: Path Rules", "message": "segment \"book\" is the method name BOOK",
                "help": "rename the segment",
            }],
            "errors": 1,
            "warnings": 0,
        });
        assert_eq!(report.to_json(), expected);
    }
}
