//! Where the upstream is: the first https server, its variables filled in with their defaults.

use super::document::{elements, members, text};
use super::operation::Operation;
use serde_json::{Map, Value};

/// The upstream's address, without a `/` at the end, and what the reviewer should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) url: String,
    pub(super) review: Option<String>,
}

/// The server of the whole document; `given` replaces what it says.
pub(super) fn of_document(root: &Map<String, Value>, given: Option<&str>) -> Result<Base, String> {
    match given {
        Some(url) => Ok(Base { url: sound(url)?, review: None }),
        None => first(elements(root.get("servers"))).unwrap_or_else(|| {
            Err("it names no server; give its address with --base-url https://HOST/PATH".to_owned())
        }),
    }
}

/// The server of one operation, if it or its path names one.
pub(super) fn of_operation(operation: &Operation<'_>) -> Option<Result<Base, String>> {
    first(elements(operation.body.get("servers"))).or_else(|| first(elements(operation.item.get("servers"))))
}

/// The first server that can be used, or why the first cannot.
fn first(servers: &[Value]) -> Option<Result<Base, String>> {
    let mut bases = servers.iter().map(|server| base(members(Some(server))));
    let first = bases.next()?;
    Some(if first.is_ok() { first } else { bases.find(Result::is_ok).unwrap_or(first) })
}

fn base(server: &Map<String, Value>) -> Result<Base, String> {
    let template = text(server, "url").unwrap_or("/");
    let variables = members(server.get("variables"));
    let mut url = template.to_owned();
    let mut filled = Vec::new();
    for (name, variable) in variables {
        let placeholder = format!("{{{name}}}");
        let variable = members(Some(variable));
        let first = elements(variable.get("enum")).first().and_then(Value::as_str);
        let value = variable.get("default").and_then(Value::as_str).or(first);
        if let Some(value) = value.filter(|_| url.contains(&placeholder)) {
            url = url.replace(&placeholder, value);
            filled.push(format!("{name} = \"{value}\""));
        }
    }
    let review =
        (!filled.is_empty()).then(|| format!("server {template} is taken with {}", filled.join(", ")));
    Ok(Base { url: sound(&url)?, review })
}

/// The address without what would not fit a url in front of a path.
fn sound(url: &str) -> Result<String, String> {
    let url = url.trim();
    let advice = "give its address with --base-url https://HOST/PATH";
    let Some(rest) = url.strip_prefix("https://") else {
        let what = if url.contains("://") { "is not https" } else { "is relative" };
        return Err(format!("its server \"{url}\" {what}; {advice}"));
    };
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() || host.contains('@') || rest.contains(['{', '}', '?', '#', ' ', '"', '\\']) {
        return Err(format!("its server \"{url}\" is no plain address; {advice}"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(servers: Value, given: Option<&str>) -> Result<Base, String> {
        of_document(json!({"servers": servers}).as_object().unwrap(), given)
    }

    #[test]
    fn the_first_server_that_can_be_used_is() {
        let url = |servers: Value| found(servers, None).unwrap().url;
        assert_eq!(url(json!([{"url": "https://a.example/v1/"}])), "https://a.example/v1");
        assert_eq!(
            url(json!([{"url": "http://a.example"}, {"url": "https://b.example"}])),
            "https://b.example"
        );
        let server = json!([{
            "url": "https://{region}.a.example/{base}",
            "variables": {"region": {"default": "eu"}, "base": {"enum": ["v2", "v1"], "default": "v2"}, "x": {}},
        }]);
        let base = found(server, None).unwrap();
        assert_eq!(base.url, "https://eu.a.example/v2");
        assert!(base.review.unwrap().contains("region = \"eu\""));
        assert_eq!(
            found(json!([{"url": "/v3"}]), Some("https://c.example/v3")).unwrap().url,
            "https://c.example/v3"
        );
    }

    #[test]
    fn those_that_cannot_be_used_say_what_to_do() {
        for servers in [
            json!([]),
            json!([{"url": "/v3"}]),
            json!([{"url": "http://a.example"}]),
            json!([{"url": "https://{x}.a"}]),
        ] {
            assert!(found(servers, None).unwrap_err().contains("--base-url https://"));
        }
        assert!(found(json!([]), Some("http://a.example")).unwrap_err().contains("not https"));
    }
}
