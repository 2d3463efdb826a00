//! A request as arguments describe it.

use super::{Failure, agent};
use crate::client::Request;
use crate::wire::Uri;
use std::io::{self, Read};
use std::path::Path;

/// What a request carries beside its method and its target.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Ask {
    /// Body: JSON, @FILE, or - for stdin
    #[arg(short = 'd', long = "data", value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    data: Option<String>,
    /// A header, 'Name: value'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Speak as this agent: an identity document, or its name in ./agents
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "agent_id")]
    agent: Option<String>,
    /// Speak as this agent: 64 hexadecimal digits
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// Claim these scopes instead of all that the agent's document grants
    #[arg(long, value_name = "A:B,C:D")]
    scope: Option<String>,
}

impl Ask {
    /// The request that the arguments describe.
    pub(super) fn request(&self, method: &str, uri: &Uri<'_>) -> Result<Request, Failure> {
        let target = match uri.query {
            Some(query) => format!("{}?{query}", uri.path),
            None => uri.path.to_owned(),
        };
        let mut request = Request::new(method, &target).map_err(Failure::new)?;
        let (agent_id, scopes) = self.identity(uri)?;
        let scopes = self.scope.clone().or(scopes);
        for (name, value) in [("Agent-ID", agent_id), ("Authority-Scope", scopes)] {
            if let Some(value) = value {
                request.header(name, &value).map_err(Failure::new)?;
            }
        }
        for line in &self.headers {
            request.header_line(line).map_err(Failure::new)?;
        }
        if let Some(data) = &self.data {
            request.body(body(data)?);
        }
        Ok(request)
    }

    /// Who speaks, and the scopes its document grants: from `--agent`, `--agent-id` or the address, which must not
    /// contradict each other.
    fn identity(&self, uri: &Uri<'_>) -> Result<(Option<String>, Option<String>), Failure> {
        let caller = self.agent.as_deref().map(agent::load).transpose()?;
        let (named, scopes) = match caller {
            Some(caller) => (Some(caller.agent_id), Some(caller.scopes.join(","))),
            None => (self.agent_id.clone(), None),
        };
        match (named, uri.agent_id) {
            (Some(named), Some(addressed)) if named != addressed => Err(Failure(format!(
                "the address names agent {addressed}, the arguments name {named}; leave one of them out"
            ))),
            (named, addressed) => {
                let scopes = scopes.filter(|scopes| !scopes.is_empty());
                Ok((named.or_else(|| addressed.map(str::to_owned)), scopes))
            }
        }
    }
}

fn body(data: &str) -> Result<Vec<u8>, Failure> {
    match (data, data.strip_prefix('@')) {
        ("-", _) => {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| Failure(format!("cannot read the body from stdin: {error}")))?;
            Ok(bytes)
        }
        (_, Some(file)) => std::fs::read(file).map_err(|error| Failure::file(Path::new(file), &error)),
        (json, None) => Ok(json.as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        method: String,
        uri: String,
        #[command(flatten)]
        ask: Ask,
    }

    const ID: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const CONCIERGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/agents/concierge.agent.json");

    fn encoded(line: &[&str]) -> Result<String, String> {
        let line = Line::try_parse_from(["call"].iter().chain(line)).map_err(|error| error.to_string())?;
        let uri = Uri::parse(&line.uri).map_err(|fault| fault.to_string())?;
        let request = line.ask.request(&line.method, &uri).map_err(|Failure(message)| message)?;
        String::from_utf8(request.encode()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_agent_brings_its_id_and_its_scopes() {
        let request =
            encoded(&["BOOK", "agtp://localhost/rooms/12?x=1", "--agent", CONCIERGE, "-d", "{}"]).unwrap();
        assert!(request.starts_with("AGTP/1.0 BOOK /rooms/12?x=1\r\nAgent-ID: "), "{request}");
        assert!(request.contains("\r\nAuthority-Scope: booking:*,reservations:*\r\n"), "{request}");
        assert!(request.ends_with("\r\nContent-Length: 2\r\n\r\n{}"), "{request}");
    }

    #[test]
    fn scope_replaces_what_the_document_grants() {
        let uri = "agtp://localhost/rooms";
        let request = encoded(&["FIND", uri, "--agent", CONCIERGE, "--scope", "rooms:read"]).unwrap();
        assert!(request.contains("\r\nAuthority-Scope: rooms:read\r\n"), "{request}");
        let request = encoded(&["FIND", uri, "--agent-id", ID]).unwrap();
        assert_eq!(request, format!("AGTP/1.0 FIND /rooms\r\nAgent-ID: {ID}\r\n\r\n"));
    }

    #[test]
    fn the_address_may_name_the_agent() {
        let uri = format!("agtp://{ID}@localhost");
        let request = encoded(&["DISCOVER", &uri]).unwrap();
        assert_eq!(request, format!("AGTP/1.0 DISCOVER /\r\nAgent-ID: {ID}\r\n\r\n"));
        assert_eq!(encoded(&["DISCOVER", &uri, "--agent-id", ID]).unwrap(), request);
        let error = encoded(&["DISCOVER", &uri, "--agent", CONCIERGE]).unwrap_err();
        assert!(error.contains("leave one of them out"), "{error}");
    }

    #[test]
    fn what_cannot_be_sent_is_refused_in_one_line() {
        for line in [
            &["BOOK", "http://localhost/"][..],
            &["BO OK", "agtp://localhost/"],
            &["BOOK", "agtp://localhost/", "-H", "no colon"],
            &["BOOK", "agtp://localhost/", "-H", "Content-Length: 3"],
            &["BOOK", "agtp://localhost/", "-d", "@/nonexistent"],
            &["BOOK", "agtp://localhost/", "--scope", "a:b\r\nX: y"],
        ] {
            let error = encoded(line).unwrap_err();
            assert!(!error.is_empty() && !error.contains('\n'), "{line:?}: {error}");
        }
    }
}
