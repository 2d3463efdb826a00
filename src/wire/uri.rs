//! `agtp://` addresses, as people type them.

use super::class::PATH;
use super::percent;
use super::query::check_query;
use core::net::Ipv6Addr;
use std::fmt;

/// The registered port (facts page 1).
pub const DEFAULT_PORT: u16 = 4480;

/// `agtp://[AGENT_ID@]HOST[:PORT][/PATH][?QUERY]`, borrowed from its text.
///
/// Only what would break the request line is refused. Path rules and verbs in paths are the server's to answer (460).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uri<'t> {
    /// The agent that the request is for: 64 lowercase hexadecimal digits.
    pub agent_id: Option<&'t str>,
    /// A name or an address; IPv6 without its brackets.
    pub host: &'t str,
    /// The port, [`DEFAULT_PORT`] when none is given.
    pub port: u16,
    /// The path, percent-encoded; `/` when none is given.
    pub path: &'t str,
    /// What follows the `?`, percent-encoded.
    pub query: Option<&'t str>,
}

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriFault {
    /// Another scheme, or none.
    Scheme,
    /// A `#`.
    Fragment,
    /// Something before the `@` that is no Agent-ID.
    AgentId,
    /// No host.
    NoHost,
    /// A host with characters that no host has.
    Host,
    /// Brackets around something that is no IPv6 address, or an IPv6 address without brackets.
    Ipv6,
    /// A port that is not 1 to 65535.
    Port,
    /// A character of the path that must be percent-encoded, or a bad escape.
    Path,
    /// A character of the query that must be percent-encoded, or a bad escape.
    Query,
}

impl UriFault {
    /// What was wrong, and what would be right.
    pub const fn message(self) -> &'static str {
        match self {
            UriFault::Scheme => {
                "the address does not begin with `agtp://`; expected agtp://[AGENT_ID@]HOST[:PORT][/PATH][?QUERY]"
            }
            UriFault::Fragment => {
                "the address has a fragment (`#`), which AGTP does not have; write %23 for the character itself"
            }
            UriFault::AgentId => {
                "what stands before `@` is not an Agent-ID; expected 64 lowercase hexadecimal digits"
            }
            UriFault::NoHost => "the address has no host; expected agtp://HOST/PATH",
            UriFault::Host => "the host contains a character other than letters, digits, `-`, `.` and `_`",
            UriFault::Ipv6 => "an IPv6 address stands in brackets, as in agtp://[::1]:4480/",
            UriFault::Port => "the port is not a number from 1 to 65535",
            UriFault::Path => {
                "the path contains a character that must be percent-encoded, or a `%` without two hexadecimal digits, or is not UTF-8 once decoded"
            }
            UriFault::Query => {
                "the query contains a character that must be percent-encoded, or a `%` without two hexadecimal digits, or is not UTF-8 once decoded"
            }
        }
    }
}

impl fmt::Display for UriFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for UriFault {}

const SCHEME: &str = "agtp://";

impl<'t> Uri<'t> {
    /// Reads an address.
    pub fn parse(text: &'t str) -> Result<Uri<'t>, UriFault> {
        let (scheme, rest) = text.split_at_checked(SCHEME.len()).ok_or(UriFault::Scheme)?;
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return Err(UriFault::Scheme);
        }
        if rest.contains('#') {
            return Err(UriFault::Fragment);
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (agent_id, address) = split_agent(authority)?;
        let (host, port) = split_port(address)?;
        let (path, query) = split_target(target)?;
        Ok(Uri { agent_id, host, port, path, query })
    }

    /// Whether the host is an IPv6 address, which is written in brackets.
    pub fn is_ipv6(&self) -> bool {
        self.host.contains(':')
    }
}

fn split_agent(authority: &str) -> Result<(Option<&str>, &str), UriFault> {
    let Some((agent_id, address)) = authority.rsplit_once('@') else {
        return Ok((None, authority));
    };
    let sound =
        agent_id.len() == 64 && agent_id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if sound { Ok((Some(agent_id), address)) } else { Err(UriFault::AgentId) }
}

fn split_port(address: &str) -> Result<(&str, u16), UriFault> {
    if let Some(bracketed) = address.strip_prefix('[') {
        let (host, rest) = bracketed.split_once(']').ok_or(UriFault::Ipv6)?;
        host.parse::<Ipv6Addr>().map_err(|_| UriFault::Ipv6)?;
        let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or(UriFault::Ipv6)?) };
        return Ok((host, port.map_or(Ok(DEFAULT_PORT), parse_port)?));
    }
    let (host, port) = match address.split_once(':') {
        Some((_, port)) if port.contains(':') => return Err(UriFault::Ipv6),
        Some((host, port)) => (host, parse_port(port)?),
        None => (address, DEFAULT_PORT),
    };
    match host {
        "" => Err(UriFault::NoHost),
        _ if host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) => {
            Ok((host, port))
        }
        _ => Err(UriFault::Host),
    }
}

fn parse_port(digits: &str) -> Result<u16, UriFault> {
    // `parse` takes a sign, a port does not.
    let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
    let port = digits.parse().ok().filter(|&port| plain && port != 0);
    port.ok_or(UriFault::Port)
}

fn split_target(target: &str) -> Result<(&str, Option<&str>), UriFault> {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    percent::check_text(path.as_bytes(), PATH).map_err(|_| UriFault::Path)?;
    check_query(query.unwrap_or_default().as_bytes()).map_err(|_| UriFault::Query)?;
    Ok((if path.is_empty() { "/" } else { path }, query))
}

impl fmt::Display for Uri<'_> {
    /// The address in full, the port left out when it is the registered one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        if let Some(agent_id) = self.agent_id {
            write!(f, "{agent_id}@")?;
        }
        if self.is_ipv6() {
            write!(f, "[{}]", self.host)?
        } else {
            f.write_str(self.host)?
        }
        if self.port != DEFAULT_PORT {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(self.path)?;
        match self.query {
            Some(query) => write!(f, "?{query}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AGENT: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn reads_every_part() {
        let text = format!("agtp://{AGENT}@hotel.example:4481/rooms/7?from=x&to=y%20z");
        let expected = Uri {
            agent_id: Some(AGENT),
            host: "hotel.example",
            port: 4481,
            path: "/rooms/7",
            query: Some("from=x&to=y%20z"),
        };
        assert_eq!(Uri::parse(&text), Ok(expected));
        assert_eq!(expected.to_string(), text);
    }

    #[test]
    fn fills_in_port_and_path() {
        let bare = Uri { agent_id: None, host: "h", port: 4480, path: "/", query: None };
        assert_eq!(Uri::parse("agtp://h"), Ok(bare));
        assert_eq!(Uri::parse("AGTP://h:4480/"), Ok(bare));
        assert_eq!(Uri::parse("agtp://h?q"), Ok(Uri { query: Some("q"), ..bare }));
        assert_eq!(Uri::parse("agtp://[::1]"), Ok(Uri { host: "::1", ..bare }));
        assert_eq!(Uri::parse("agtp://[::1]:9/"), Ok(Uri { host: "::1", port: 9, ..bare }));
        assert_eq!(Uri::parse("agtp://127.0.0.1:65535").map(|uri| uri.port), Ok(65535));
    }

    #[test]
    fn leaves_the_path_rules_to_the_server() {
        for path in ["//", "/rooms/", "/book", "/a//b"] {
            assert_eq!(
                Uri::parse(&format!("agtp://h{path}")).map(|uri| uri.path.to_owned()),
                Ok(path.to_owned())
            );
        }
    }

    #[test]
    fn says_what_is_wrong() {
        use UriFault::*;
        let upper = format!("agtp://{}@h", AGENT.to_uppercase());
        let twice = format!("agtp://{AGENT}@{AGENT}@h");
        let cases = [
            ("", Scheme),
            ("agtp:/h", Scheme),
            ("http://h/", Scheme),
            ("agt\u{fc}://h", Scheme),
            ("agtp://h/#a", Fragment),
            ("agtp://me@h", AgentId),
            ("agtp://@h", AgentId),
            (&upper, AgentId),
            (&twice, AgentId),
            ("agtp://", NoHost),
            ("agtp:///rooms", NoHost),
            ("agtp://:4480/", NoHost),
            ("agtp://h\u{f6}tel/", Host),
            ("agtp://h h/", Host),
            ("agtp://::1/", Ipv6),
            ("agtp://[::1/", Ipv6),
            ("agtp://[1]/", Ipv6),
            ("agtp://[::1]4480/", Ipv6),
            ("agtp://h:/", Port),
            ("agtp://h:0/", Port),
            ("agtp://h:+1/", Port),
            ("agtp://h:65536/", Port),
            ("agtp://h:x/", Port),
            ("agtp://h/a b", Path),
            ("agtp://h/a%2", Path),
            ("agtp://h/%ff", Path),
            ("agtp://h/\u{e9}", Path),
            ("agtp://h/?a b", Query),
            ("agtp://h/?%zz", Query),
            ("agtp://h/?a=%c3", Query),
        ];
        for (text, fault) in cases {
            assert_eq!(Uri::parse(text), Err(fault), "{text:?}");
            assert!(!fault.to_string().is_empty());
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(agtp://)?\\PC{0,40}") {
            if let Ok(uri) = Uri::parse(&text) {
                let written = uri.to_string();
                prop_assert_eq!(Uri::parse(&written), Ok(uri));
            }
        }

        #[test]
        fn addresses_come_back_as_they_were(
            agent in proptest::option::of("[0-9a-f]{64}"),
            host in "([a-z0-9][a-z0-9.-]{0,20}|\\[::[1-9a-f]{1,4}\\])",
            port in proptest::option::of(1u16..),
            path in "(/[A-Za-z0-9._~!$&'()*+,;=:@-]{0,9}){1,4}",
            query in proptest::option::of("[a-z0-9=&/?+]{0,20}"),
        ) {
            let agent = agent.map_or(String::new(), |agent| agent + "@");
            let port = port.filter(|&port| port != DEFAULT_PORT).map_or(String::new(), |port| format!(":{port}"));
            let query = query.map_or(String::new(), |query| format!("?{query}"));
            let text = format!("agtp://{agent}{host}{port}{path}{query}");
            let uri = Uri::parse(&text);
            prop_assert_eq!(uri.map(|uri| uri.to_string()), Ok(text.clone()));
        }
    }
}
