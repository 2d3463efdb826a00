//! Interning: each distinct string is stored once.

use crate::registry::{Rows, Text};
use std::collections::HashMap;

/// A text blob that grows, and where each string of it is.
#[derive(Debug, Default)]
pub(super) struct Interner {
    blob: String,
    known: HashMap<String, Text>,
    overflowed: bool,
}

impl Interner {
    /// The range of `text`, appended if it is new.
    pub(super) fn add(&mut self, text: &str) -> Text {
        if text.is_empty() {
            return Text::EMPTY;
        }
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let (Ok(start), Ok(len)) = (u32::try_from(self.blob.len()), u32::try_from(text.len())) else {
            self.overflowed = true;
            return Text::EMPTY;
        };
        self.blob.push_str(text);
        self.known.insert(text.to_owned(), Text { start, len });
        Text { start, len }
    }

    /// Adds each string, and its range to `table`.
    pub(super) fn add_rows<'t>(
        &mut self,
        table: &mut Vec<Text>,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Rows {
        let start = index(table.len());
        table.extend(texts.into_iter().map(|text| self.add(text)));
        Rows { start, end: index(table.len()) }
    }

    /// What was interned so far.
    pub(super) fn blob(&self) -> &str {
        &self.blob
    }

    /// The blob, or nothing when it outgrew what a [`Text`] can address.
    pub(super) fn finish(self) -> Option<String> {
        (!self.overflowed).then_some(self.blob)
    }
}

/// A table index as stored. A table outgrows memory long before `u32`.
pub(super) fn index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
