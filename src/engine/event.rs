//! What the engine has to tell its operator.

use std::fmt;

/// Something for the log. The engine does no I/O: it hands events to the function given to
/// [`Engine::with_log`](super::Engine::with_log). None holds a request body or an `Authorization` value.
#[derive(Clone, Copy, Debug)]
pub enum Event<'e> {
    /// A handler's answer does not satisfy the output schema; the caller got 500 `output-validation-failed`.
    OutputInvalid {
        /// The endpoint, `METHOD /template`.
        endpoint: EndpointName<'e>,
        /// JSON Pointer and message of the first violation.
        violation: (&'e str, &'e str),
    },
    /// A handler failed or panicked; the caller got 500 `handler-failed`.
    HandlerFailed {
        /// The endpoint.
        endpoint: EndpointName<'e>,
        /// Why.
        reason: &'e str,
    },
    /// A handler returned an error its endpoint does not declare; the caller got 500 `handler-failed`.
    UndeclaredError {
        /// The endpoint.
        endpoint: EndpointName<'e>,
        /// The name.
        error: &'e str,
    },
    /// An agent still names itself in `Target-Agent`. Said once per agent.
    OldAgentHeader {
        /// The agent's short name.
        agent: &'e str,
    },
    /// A caller names a discovery surface in the `target` of a body, not in the path. Said once per agent.
    TargetInBody {
        /// The agent's short name; callers without Agent-ID count as one.
        agent: Option<&'e str>,
    },
}

/// An endpoint as logs name it.
#[derive(Clone, Copy, Debug)]
pub struct EndpointName<'e> {
    /// The method.
    pub method: &'e str,
    /// The path template.
    pub path: &'e str,
    /// The file that declares it; empty for built-ins.
    pub source: &'e str,
}

impl fmt::Display for EndpointName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if self.source.is_empty() { Ok(()) } else { write!(f, " ({})", self.source) }
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::OutputInvalid { endpoint, violation: (field, message) } => {
                write!(f, "{endpoint}: the handler's answer fails the output schema at `{field}`: {message}")
            }
            Event::HandlerFailed { endpoint, reason } => {
                write!(f, "{endpoint}: the handler failed: {reason}")
            }
            Event::UndeclaredError { endpoint, error } => {
                write!(
                    f,
                    "{endpoint}: the handler returned `{error}`, which is not in the endpoint's errors list"
                )
            }
            Event::OldAgentHeader { agent } => {
                write!(f, "agent `{agent}` names itself in Target-Agent, the old name of Agent-ID")
            }
            Event::TargetInBody { agent } => {
                f.write_str(
                    "DISCOVER with `target` in the body is deprecated, the path says what is asked for: ",
                )?;
                match agent {
                    Some(agent) => write!(f, "agent `{agent}` still does it"),
                    None => f.write_str("a caller without Agent-ID still does it"),
                }
            }
        }
    }
}
