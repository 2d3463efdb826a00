//! What a handler is told of its request.

use super::EndpointError;
use crate::engine::Now;
use crate::identity::{Agent, AgentId, Agents, PeerIdentity};
use crate::json::Value;
use crate::registry::Text;
use crate::wire::{Field, Head};

/// One admitted request. Everything is borrowed from the connection's buffer and the core's scratch.
pub struct Context<'a> {
    pub(crate) input: Value<'a>,
    pub(crate) method: &'a str,
    pub(crate) path: &'a [u8],
    pub(crate) head: &'a Head,
    pub(crate) bytes: &'a [u8],
    pub(crate) caller: Option<Caller<'a>>,
    pub(crate) peer: Option<&'a PeerIdentity>,
    pub(crate) now: Now,
}

/// Who calls. The name is a range until it is asked for, which most handlers never do.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    id: &'a AgentId,
    name: Text,
    text: &'a str,
}

impl<'a> Caller<'a> {
    #[inline]
    pub(crate) fn of(agent: &'a Agent, agents: &'a Agents) -> Self {
        Caller { id: &agent.id, name: agent.name, text: &agents.text }
    }

    pub(crate) fn named(id: &'a AgentId, name: &'a str) -> Self {
        Caller { id, name: Text { start: 0, len: name.len() as u32 }, text: name }
    }
}

impl<'a> Context<'a> {
    /// The input: path parameters, body and query merged and validated; always an object.
    pub fn input(&self) -> Input<'a> {
        Input { value: self.input }
    }

    /// The method after alias and redirect.
    pub fn method(&self) -> &'a str {
        self.method
    }

    /// The concrete path after redirects, as on the wire, without the query.
    pub fn path(&self) -> &'a str {
        // The path grammar admits ASCII only.
        std::str::from_utf8(self.path).unwrap_or("")
    }

    /// The caller's Agent-ID, 64 hexadecimal digits; `None` for an anonymous caller.
    pub fn agent_id(&self) -> Option<&'a str> {
        self.field(Field::AgentId).or_else(|| self.field(Field::TargetAgent))
    }

    /// The same as its 32 bytes.
    pub fn agent_key(&self) -> Option<&'a AgentId> {
        self.caller.map(|caller| caller.id)
    }

    /// The short name the operator gave the caller.
    pub fn agent_name(&self) -> Option<&'a str> {
        self.caller.map(|caller| caller.name.of(caller.text))
    }

    /// The caller's Agent-ID if a certificate proved it, and not merely the request says so. (With a certificate the
    /// two never differ.)
    pub fn verified_agent(&self) -> Option<&'a AgentId> {
        self.caller.map(|caller| caller.id).filter(|id| self.peer.is_some_and(|peer| peer.is(id)))
    }

    /// What the client's certificate says, whether or not the request names an agent; `None` without a certificate.
    pub fn peer(&self) -> Option<&'a PeerIdentity> {
        self.peer
    }

    /// The scopes the caller claims for this request, all of them granted to it.
    pub fn scopes(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        crate::identity::ScopeList(self.field(Field::AuthorityScope).unwrap_or("")).iter()
    }

    /// `Session-ID`.
    pub fn session_id(&self) -> Option<&'a str> {
        self.field(Field::SessionId)
    }

    /// `Task-ID`.
    pub fn task_id(&self) -> Option<&'a str> {
        self.field(Field::TaskId)
    }

    /// `Request-ID`.
    pub fn request_id(&self) -> Option<&'a str> {
        self.field(Field::RequestId)
    }

    /// `Authorization`, opaque to the protocol.
    pub fn authorization(&self) -> Option<&'a str> {
        self.field(Field::Authorization)
    }

    /// The first header of this name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let found = self.head.header(name.as_bytes(), self.bytes)?;
        std::str::from_utf8(found).ok()
    }

    /// The time of the request, milliseconds since the Unix epoch.
    pub fn unix_ms(&self) -> u64 {
        self.now.unix_ms
    }

    fn field(&self, field: Field) -> Option<&'a str> {
        std::str::from_utf8(self.head.field(field, self.bytes)?).ok()
    }
}

/// Validated input with borrowed, typed access.
///
/// The plain accessors are for properties the schema requires: should one be missing or of another type, the schema
/// and the handler disagree, which is the server's fault and becomes a 500. The `opt_` forms are for the others.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    value: Value<'a>,
}

macro_rules! access {
    ($($(#[$doc:meta])* $name:ident / $opt:ident -> $type:ty, $kind:literal, $from:ident;)+) => {
        impl<'a> Input<'a> {
            $(
                #[doc = concat!("The ", $kind, " under `key`.")]
                ///
                /// # Errors
                /// An internal error when there is none.
                pub fn $name(&self, key: &str) -> Result<$type, EndpointError> {
                    self.$opt(key).ok_or_else(|| mismatch(key, $kind))
                }

                #[doc = concat!("The ", $kind, " under `key`, if there is one.")]
                pub fn $opt(&self, key: &str) -> Option<$type> {
                    self.value.get(key)?.$from()
                }
            )+
        }
    };
}

access! {
    str / opt_str -> &'a str, "string", as_str;
    u64 / opt_u64 -> u64, "unsigned integer", as_u64;
    i64 / opt_i64 -> i64, "integer", as_i64;
    f64 / opt_f64 -> f64, "number", as_f64;
    bool / opt_bool -> bool, "boolean", as_bool;
}

impl<'a> Input<'a> {
    pub(crate) fn of(value: Value<'a>) -> Self {
        Input { value }
    }

    /// The whole input as any type that can be deserialised from it. Strings can be borrowed.
    ///
    /// # Errors
    /// An internal error when the type wants what the schema does not promise.
    pub fn deserialize<T: serde::Deserialize<'a>>(&self) -> Result<T, EndpointError> {
        T::deserialize(self.value).map_err(|error| {
            EndpointError::internal(format!("the input does not fit the handler's type: {error}"))
        })
    }

    /// Whatever stands under `key`: arrays, objects, null.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.value.get(key)
    }

    /// The whole input, an object.
    pub fn value(&self) -> Value<'a> {
        self.value
    }
}

#[cold]
fn mismatch(key: &str, kind: &str) -> EndpointError {
    EndpointError::internal(format!("the input has no {kind} `{key}`: the schema and the handler disagree"))
}
