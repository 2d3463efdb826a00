//! The part of `agtp-server.toml` that the server itself uses: `[limits]` of connections, in seconds and counts.
//!
//! The limits of a request are the compiler's business, they become part of the registry.

use super::Failure;
use crate::server::ServerConfig;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;
use toml::{Table, Value};

/// Longest time-out that can be set. A day is longer than any client waits; more would be a mistake in the unit.
const LONGEST_SECONDS: f64 = 86_400.0;

/// Most connections that can be set: what the system's file descriptors bound anyway.
const MOST_CONNECTIONS: i64 = 10_000_000;

/// Puts the settings of an `agtp-server.toml` into `config`. `origin` names the file in messages.
pub(super) fn apply(text: &str, origin: &str, config: &mut ServerConfig) -> Result<(), Failure> {
    let document: Table = toml::from_str(text).map_err(|error| bad_toml(origin, text, &error))?;
    let limits = match document.get("limits") {
        None => return Ok(()),
        Some(Value::Table(limits)) => limits,
        Some(_) => return Err(Failure(format!("{origin}: limits is no table; write [limits]"))),
    };
    let timeouts = &mut config.timeouts;
    for (key, place) in [
        ("idle_timeout", &mut timeouts.idle),
        ("header_timeout", &mut timeouts.header),
        ("body_timeout", &mut timeouts.body),
        ("write_timeout", &mut timeouts.write),
        ("handshake_timeout", &mut timeouts.handshake),
        ("shutdown_grace", &mut timeouts.grace),
    ] {
        if let Some(value) = limits.get(key) {
            *place = seconds(value)
                .ok_or_else(|| wrong(origin, key, value, "a number of seconds above 0, 86400 at most"))?;
        }
    }
    let count = |key: &str, most: i64| match limits.get(key) {
        None => Ok(None),
        Some(value) => match value.as_integer().filter(|number| (1..=most).contains(number)) {
            Some(number) => Ok(Some(number.unsigned_abs())),
            None => Err(wrong(origin, key, value, &format!("a whole number from 1 to {most}"))),
        },
    };
    if let Some(most) = count("max_connections", MOST_CONNECTIONS)? {
        config.max_connections = usize::try_from(most).unwrap_or(usize::MAX);
    }
    if let Some(most) = count("max_connections_per_address", MOST_CONNECTIONS)? {
        config.max_connections_per_address = u32::try_from(most).ok().and_then(NonZeroU32::new);
    }
    if let Some(most) = count("max_requests_per_connection", i64::MAX)? {
        config.max_requests_per_connection = NonZeroU64::new(most);
    }
    Ok(())
}

fn seconds(value: &Value) -> Option<Duration> {
    let seconds = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
    let sensible = seconds > 0.0 && seconds <= LONGEST_SECONDS;
    sensible.then(|| Duration::try_from_secs_f64(seconds).ok())?
}

fn wrong(origin: &str, key: &str, value: &Value, expected: &str) -> Failure {
    Failure(format!("{origin}: limits.{key} is {value}; expected {expected}"))
}

/// A parse error in one line, with the place that it is about.
fn bad_toml(origin: &str, text: &str, error: &toml::de::Error) -> Failure {
    let line =
        error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    Failure(match line {
        Some(line) => format!("{origin}:{line}: {message}"),
        None => format!("{origin}: {message}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str) -> Result<ServerConfig, String> {
        let mut config = ServerConfig::default();
        apply(text, "agtp-server.toml", &mut config).map(|()| config).map_err(|Failure(message)| message)
    }

    #[test]
    fn limits_are_seconds_and_counts() {
        let config = applied("[limits]\nidle_timeout = 5\nmax_connections = 7\nbody_bytes = 1").unwrap();
        assert_eq!((config.max_connections_per_address, config.max_requests_per_connection), (None, None));
        assert_eq!(config.timeouts.idle, Duration::from_secs(5));
        assert_eq!(config.timeouts.header, ServerConfig::default().timeouts.header);
        assert_eq!(config.max_connections, 7);
        let text = "[limits]\nmax_connections_per_address = 3\nmax_requests_per_connection = 1000000000000";
        let config = applied(text).unwrap();
        assert_eq!(config.max_connections_per_address, NonZeroU32::new(3));
        assert_eq!(config.max_requests_per_connection, NonZeroU64::new(1_000_000_000_000));
        let config = applied("[limits]\nheader_timeout = 1.5").unwrap();
        assert_eq!(config.timeouts.header, Duration::from_millis(1500));
        assert!(applied("").is_ok());
        assert!(applied(include_str!("../../agtp-server.toml")).is_ok());
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_one_line() {
        for (text, part) in [
            ("[limits]\nidle_timeout = 0", "limits.idle_timeout is 0; expected a number of seconds above 0"),
            ("[limits]\nbody_timeout = \"5s\"", "limits.body_timeout is \"5s\""),
            (
                "[limits]\nmax_connections = -1",
                "limits.max_connections is -1; expected a whole number from 1 to 10000000",
            ),
            ("[limits]\nmax_connections_per_address = 0", "limits.max_connections_per_address is 0"),
            ("[limits]\nmax_requests_per_connection = 0.5", "limits.max_requests_per_connection is 0.5"),
            ("[limits]\nheader_timeout = 1e9", "limits.header_timeout is 1"),
            ("[limits]\nheader_timeout = nan", "limits.header_timeout is nan"),
            ("limits = 3", "[limits]"),
            ("a = 1\nb = = 2", "agtp-server.toml:2: "),
        ] {
            let error = applied(text).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        }
    }
}
