//! What became of a document: what was written, what wants a person's judgement, and what was left out.

use serde_json::{Value, json};
use std::fmt;

/// Something to tell about one operation, or about the whole document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The operation, `POST /pets`; empty for the document.
    pub operation: String,
    /// What it is about: a key of the endpoint, such as `method`; empty if none.
    pub about: &'static str,
    /// What there is to say, in one line.
    pub message: String,
}

impl Note {
    fn to_json(&self) -> Value {
        json!({"operation": self.operation, "about": self.about, "message": self.message})
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [self.operation.as_str(), self.about].into_iter().filter(|part| !part.is_empty()) {
            write!(f, "{part}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// An operation that became an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The operation, `POST /pets`.
    pub operation: String,
    /// The endpoint's method.
    pub method: String,
    /// The endpoint's path.
    pub path: String,
    /// The file it is declared in, relative to the deployment.
    pub file: String,
}

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of operations in the document.
    pub operations: usize,
    /// The endpoints, in the document's order.
    pub written: Vec<Written>,
    /// What to look at: each stands as a `# REVIEW:` comment in its file too, if it has one.
    pub reviews: Vec<Note>,
    /// Operations that no endpoint was written for, and why.
    pub left_out: Vec<Note>,
    /// Environment variables that the endpoints send to the upstream.
    pub variables: Vec<String>,
}

impl Report {
    /// For machines. Keys are only ever added.
    pub fn to_json(&self) -> Value {
        let written = |row: &Written| json!({"operation": row.operation, "method": row.method, "path": row.path, "file": row.file});
        json!({
            "operations": self.operations,
            "written": self.written.iter().map(written).collect::<Vec<_>>(),
            "reviews": self.reviews.iter().map(Note::to_json).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(Note::to_json).collect::<Vec<_>>(),
            "variables": self.variables,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.left_out {
            writeln!(f, "left out: {note}")?;
        }
        for note in &self.reviews {
            writeln!(f, "review: {note}")?;
        }
        let (written, operations) = (self.written.len(), self.operations);
        write!(f, "{written} of {operations} operations became endpoints")?;
        write!(f, ", {} left out, {} to review", self.left_out.len(), self.reviews.len())
    }
}
