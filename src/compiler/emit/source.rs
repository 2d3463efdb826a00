//! Source text under construction.

use super::fields::Fields;

/// Where a line of a table ends, bytes.
const WIDTH: usize = 120;

/// Source text.
#[derive(Debug, Default)]
pub(super) struct Source {
    out: String,
}

impl Source {
    /// One line.
    pub(super) fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// The attribute of an item that the including crate may or may not use, or re-export.
    pub(super) fn public_item(&mut self) {
        self.line("#[allow(dead_code, unreachable_pub, unused_imports, reason = \"the includer takes what it needs\")]");
    }

    /// A `static` table.
    pub(super) fn table(&mut self, name: &str, row_type: &str, rows: impl Iterator<Item = String>) {
        let rows: Vec<String> = rows.collect();
        self.line(&format!("static {name}: [{row_type}; {}] = [", rows.len()));
        let mut column = 0;
        for row in &rows {
            if column > 0 && column + row.len() >= WIDTH {
                self.out.push('\n');
                column = 0;
            }
            self.out.push_str(row);
            self.out.push(',');
            column += row.len() + 1;
        }
        if column > 0 {
            self.out.push('\n');
        }
        self.line("];");
    }

    /// A string constant, in pieces of one line.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.line(&format!("const {name}: &str = ::core::concat!("));
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(rest.floor_char_boundary(WIDTH));
            self.line(&format!("{},", literal(piece)));
            rest = tail;
        }
        self.line(");");
    }

    /// A public `static` of a struct type.
    pub(super) fn structure(&mut self, name: &str, type_name: &str, doc: &str, fields: &Fields) {
        self.public_item();
        self.line(&format!("/// {doc}"));
        self.line(&format!("pub static {name}: {type_name} = {type_name} {{"));
        for (field, value) in fields {
            self.line(&format!("{field}: {value},"));
        }
        self.line("};");
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

/// A string literal; raw where that is possible, because most of the text is JSON.
fn literal(text: &str) -> String {
    let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if printable && !text.contains("\"#") {
        return format!("r#\"{text}\"#");
    }
    let mut literal = String::with_capacity(text.len() + 8);
    text.chars().for_each(|letter| escape(&mut literal, letter));
    format!("\"{literal}\"")
}

/// What a string literal cannot hold as it is, and what is not ASCII, is escaped.
fn escape(literal: &mut String, letter: char) {
    match letter {
        '"' | '\\' => literal.extend(['\\', letter]),
        '\n' => literal.push_str("\\n"),
        '\r' => literal.push_str("\\r"),
        ' '..='~' => literal.push(letter),
        other => literal.push_str(&other.escape_unicode().to_string()),
    }
}
