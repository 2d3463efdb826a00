//! What an answer means to whoever typed the call: warnings, and what to do about a refusal.

use crate::client::Response;
use serde_json::Value;

/// Headers that are worth a line although the request was done. Trust-Warning is not among them: it is about the
/// caller itself and would be repeated with every call.
const ADVISORY: [&str; 2] = ["AGTP-Catalog-Warning", "AGTP-Endpoint-Warning"];

/// The advisory headers of an answer, one line each.
pub(super) fn warnings(response: &Response) -> Vec<String> {
    let present = |name: &str| response.header(name).map(|value| format!("{name}: {value}"));
    ADVISORY.iter().filter_map(|name| present(name)).collect()
}

/// Why a request was refused, and what would be right, one line each.
pub(super) fn refusal(status: u16, reason: &str, body: &[u8]) -> Vec<String> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = body.get("error").unwrap_or(&Value::Null);
    let message = error.get("message").and_then(Value::as_str).filter(|message| !message.is_empty());
    let mut lines = vec![match message {
        Some(message) => format!("{status} {reason}: {message}"),
        None => format!("{status} {reason}"),
    }];
    lines.extend(details(status, error));
    lines
}

fn details(status: u16, error: &Value) -> Vec<String> {
    let one = |label: &str, text: Option<String>| text.map(|text| format!("{label}: {text}"));
    let lines = match status {
        262 => [
            one("why", text(error, "explanation")),
            one("missing scopes", list(error.pointer("/details/missing_scopes"))),
        ],
        405 => [
            one("allowed here", list(error.get("allowed_methods_for_path"))),
            one("redirected from here", pairs(error.get("redirects_for_path"))),
        ],
        422 => [one("at", text(error, "field")), one("why", text(error, "detail"))],
        455 => [one("missing scopes", list(error.get("missing_scopes"))), None],
        459 => [one("did you mean", list(error.get("suggestions"))), None],
        460 => [one("the segment to blame", text(error, "segment")), None],
        463 => [one("why", text(error, "explanation")), None],
        _ => [one("why", text(error, "detail")), None],
    };
    lines.into_iter().flatten().collect()
}

fn text(error: &Value, key: &str) -> Option<String> {
    error.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn list(value: Option<&Value>) -> Option<String> {
    let items: Vec<_> = value?.as_array()?.iter().filter_map(Value::as_str).collect();
    (!items.is_empty()).then(|| items.join(", "))
}

fn pairs(value: Option<&Value>) -> Option<String> {
    let pair = |(from, to): (&String, &Value)| match to {
        Value::String(to) => format!("{from} to {to}"),
        other => format!("{from} to {other}"),
    };
    let items: Vec<_> = value?.as_object()?.iter().map(pair).collect();
    (!items.is_empty()).then(|| items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_would_be_right() {
        let body = br#"{"error":{"code":"method-violation","message":"BOOKK is no method.","suggestions":["BOOK","HOOK"]}}"#;
        assert_eq!(
            refusal(459, "Method Violation", body),
            ["459 Method Violation: BOOKK is no method.", "did you mean: BOOK, HOOK"]
        );
        let body = br#"{"error":{"message":"No.","allowed_methods_for_path":["BOOK"],"redirects_for_path":{"SEARCH":"FIND"}}}"#;
        assert_eq!(
            refusal(405, "Method Not Allowed", body),
            ["405 Method Not Allowed: No.", "allowed here: BOOK", "redirected from here: SEARCH to FIND"]
        );
        let body = br#"{"error":{"message":"Bad.","field":"/nights","detail":"31 is too many"}}"#;
        assert_eq!(
            refusal(422, "Unprocessable Entity", body),
            ["422 Unprocessable Entity: Bad.", "at: /nights", "why: 31 is too many"]
        );
    }

    #[test]
    fn anything_may_come_as_a_body() {
        for body in
            [&b""[..], b"\xff", b"[]", b"null", b"{\"error\":3}", b"{\"error\":{\"suggestions\":[1,{}]}}"]
        {
            for status in [262, 400, 404, 405, 422, 455, 459, 460, 463, 500] {
                assert_eq!(refusal(status, "R", body), [format!("{status} R")]);
            }
        }
    }
}
