//! The operations of a document, in its order.

use super::document::{Document, members, text};
use super::report::Note;
use serde_json::{Map, Value};

/// Methods an operation can have; the external service of an endpoint has no TRACE.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The extension that an export writes and an import reads: what HTTP has no place for.
pub(super) const EXTENSION: &str = "x-agtp";

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation<'d> {
    /// The HTTP method, in capitals.
    pub(super) http: &'static str,
    pub(super) path: &'d str,
    /// The path item it stands in.
    pub(super) item: &'d Map<String, Value>,
    pub(super) body: &'d Map<String, Value>,
}

impl<'d> Operation<'d> {
    /// `POST /pets`.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.http, self.path)
    }

    /// A text of the operation.
    pub(super) fn text(&self, key: &str) -> Option<&'d str> {
        text(self.body, key)
    }

    /// What an export noted.
    pub(super) fn extension(&self) -> &'d Map<String, Value> {
        members(self.body.get(EXTENSION))
    }

    /// Whether it is one that an export wrote.
    pub(super) fn is_exported(&self) -> bool {
        self.body.contains_key(EXTENSION)
    }
}

/// All operations. Those that cannot be looked at are noted.
pub(super) fn all<'d>(document: &'d Document, left_out: &mut Vec<Note>) -> Vec<Operation<'d>> {
    let mut operations = Vec::new();
    let mut refuse = |operation: String, message: String| {
        left_out.push(Note { operation, about: "", message });
    };
    for (path, item) in document.block("paths").iter().filter(|(path, _)| !path.starts_with("x-")) {
        let item = match document.follow(item) {
            Ok(target) => members(Some(target.value)),
            Err(fault) => {
                refuse(path.clone(), fault);
                continue;
            }
        };
        for (method, http) in
            METHODS.into_iter().zip(["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"])
        {
            match item.get(method) {
                None | Some(Value::Null) => {}
                Some(Value::Object(body)) => operations.push(Operation { http, path, item, body }),
                Some(_) => refuse(format!("{http} {path}"), "the operation is no object".to_owned()),
            }
        }
        for key in ["query", "additionalOperations"].into_iter().filter(|key| item.contains_key(*key)) {
            refuse(path.clone(), format!("\"{key}\" is no method of an external service"));
        }
    }
    operations
}
