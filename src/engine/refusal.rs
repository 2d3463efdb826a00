//! Refusals: what each gate can say no with, and the one place that turns it into a status and a body.
//!
//! Every body is `{"error": {"code", "message", …detail}}` (facts page 3). Messages say what was wrong and what would
//! be right; what was asked stands beside them in fields of its own.

use super::authority::granted;
use super::invoke::Message;
use super::request::Request;
use super::suggest::closest;
use super::{Engine, Scratch, Trail};
use crate::identity::{ScopeList, Status as AgentStatus};
use crate::json::{JsonFault, ObjectWriter, Violation, write_object};
use crate::registry::{Registry, Rows};
use crate::wire::{Field, PathFault, Status, WireFault, WireFaultKind};

/// Why a request is not served.
pub(super) enum Refusal<'r> {
    Wire(WireFault),
    TimedOut,
    HandlerTimedOut,
    Delegation,
    InvalidAgentId,
    UnknownAgent,
    /// The certificate is not that of the agent the request names.
    CertificateMismatch,
    AgentStatus(AgentStatus),
    /// The token nobody knows.
    Method(&'r [u8]),
    Path(PathFault),
    /// The segment that is a method name.
    Leak(&'r [u8]),
    PolicyRefused,
    MethodNotAllowed,
    NotFound,
    AnonymousDiscoveryDisabled,
    CredentialsMissing,
    /// The agent's document does not list the method, and the policy holds agents to it.
    MethodNotListed,
    /// The item that is no scope.
    MalformedScope(&'r str),
    ClaimBeyondGrant,
    ScopeNotGranted,
    ScopeRequired,
    UnsupportedContentType(&'r str),
    /// What the body's `target` says instead of the path.
    ConflictingTarget(Box<str>),
    Json(JsonFault),
    InputNotObject,
    InputInvalid(Violations),
    Named {
        name: &'r str,
        message: Message,
    },
    IdempotencyConflict,
    HandlerFailed,
    OutputInvalid,
    /// What it changes could not be put on record.
    AuditUnavailable,
    SynthesisDisabled,
    NotServed,
    AgentNotFound,
    GenesisNotFound,
    RecordNotFound,
    /// Records are not for this caller.
    RecordsWithheld,
    /// A change of lifecycle without a certificate.
    IssuerUnproven,
    /// One with another's certificate.
    NotIssuer,
    /// What the agent's status does not allow.
    LifecycleConflict(&'static str, AgentStatus),
}

/// Schema violations, at most sixteen.
pub(super) struct Violations(pub(super) Vec<Violation>);

impl Refusal<'_> {
    /// Whether it came before the method was looked at, so that the advisory headers are still to be found out.
    pub(super) fn precedes_vocabulary(&self) -> bool {
        matches!(
            self,
            Refusal::Delegation
                | Refusal::InvalidAgentId
                | Refusal::UnknownAgent
                | Refusal::CertificateMismatch
                | Refusal::AgentStatus(_)
        )
    }

    #[rustfmt::skip]
    fn status(&self) -> Status {
        match self {
            Refusal::Wire(fault) => fault.kind.status(),
            Refusal::TimedOut | Refusal::HandlerTimedOut => Status::Timeout,
            Refusal::Delegation | Refusal::NotServed => Status::NotImplemented,
            Refusal::InvalidAgentId | Refusal::MalformedScope(_) | Refusal::UnsupportedContentType(_) |
            Refusal::ConflictingTarget(_) | Refusal::Json(_) =>
                Status::BadRequest,
            Refusal::UnknownAgent | Refusal::CertificateMismatch | Refusal::IssuerUnproven => Status::Unauthorized,
            Refusal::MethodNotListed | Refusal::RecordsWithheld | Refusal::NotIssuer => Status::Forbidden,
            Refusal::AgentStatus(AgentStatus::Retired) => Status::Gone,
            Refusal::AgentStatus(_) | Refusal::AuditUnavailable => Status::Unavailable,
            Refusal::Method(_) => Status::MethodViolation,
            Refusal::Path(_) | Refusal::Leak(_) => Status::EndpointViolation,
            Refusal::PolicyRefused | Refusal::MethodNotAllowed => Status::MethodNotAllowed,
            Refusal::NotFound | Refusal::AgentNotFound | Refusal::GenesisNotFound | Refusal::RecordNotFound =>
                Status::NotFound,
            Refusal::AnonymousDiscoveryDisabled | Refusal::CredentialsMissing | Refusal::ScopeRequired =>
                Status::AuthorizationRequired,
            Refusal::ClaimBeyondGrant | Refusal::ScopeNotGranted => Status::ScopeViolation,
            Refusal::InputNotObject | Refusal::InputInvalid(_) | Refusal::Named { .. } |
            Refusal::LifecycleConflict(..) => Status::UnprocessableEntity,
            Refusal::IdempotencyConflict => Status::Conflict,
            Refusal::HandlerFailed | Refusal::OutputInvalid => Status::ServerError,
            Refusal::SynthesisDisabled => Status::ProposalRejected,
        }
    }
}

/// Renders a refusal into the core's body buffer.
#[cold]
pub(super) fn render(
    engine: &Engine<'_>,
    scratch: &mut Scratch,
    request: &Request<'_>,
    trail: &Trail<'_>,
    refusal: &Refusal<'_>,
) -> Status {
    let mut body = std::mem::take(&mut scratch.body);
    body.clear();
    let mut renderer = Renderer { engine, scratch, request, trail };
    write_object(&mut body, |o| {
        o.object("error", |error| renderer.write(error, refusal));
    });
    scratch.body = body;
    refusal.status()
}

struct Renderer<'a, 'r> {
    engine: &'a Engine<'a>,
    scratch: &'a mut Scratch,
    request: &'a Request<'r>,
    trail: &'a Trail<'r>,
}

type Error<'e> = ObjectWriter<'e>;

impl Renderer<'_, '_> {
    fn write(&mut self, error: &mut Error<'_>, refusal: &Refusal<'_>) {
        match refusal {
            Refusal::Wire(fault) => self.wire(error, fault),
            Refusal::TimedOut => {
                head(
                    error,
                    "timeout",
                    "the request was not complete in time; send it whole, or keep the connection unused",
                );
            }
            Refusal::HandlerTimedOut => {
                head(
                    error,
                    "timeout",
                    "the endpoint did not answer in time; whether it took effect is not known",
                );
                self.place(error);
            }
            Refusal::Delegation => {
                head(
                    error,
                    "delegation-not-supported",
                    "Delegation-Chain is reserved and not supported; leave it out",
                );
            }
            Refusal::NotServed => {
                head(
                    error,
                    "not-implemented",
                    "this server knows the floor method and does not serve it at `/` yet",
                );
                self.place(error);
            }
            Refusal::InvalidAgentId
            | Refusal::UnknownAgent
            | Refusal::CertificateMismatch
            | Refusal::AgentStatus(_) => self.caller(error, refusal),
            Refusal::Method(token) => self.method(error, token),
            Refusal::Path(fault) => {
                head(error, "endpoint-violation", fault.rule.message());
                error.bytes_lossy("path", self.trail.path);
                if let Some(segment) = fault.segment {
                    error.bytes_lossy("segment", segment.of(self.trail.path));
                }
            }
            Refusal::Leak(segment) => {
                head(
                    error,
                    "endpoint-violation",
                    "a path segment is a method name; methods belong on the request line",
                );
                error.bytes_lossy("path", self.trail.path).bytes_lossy("segment", segment);
            }
            Refusal::PolicyRefused | Refusal::MethodNotAllowed => self.not_allowed(error, refusal),
            Refusal::NotFound
            | Refusal::AgentNotFound
            | Refusal::GenesisNotFound
            | Refusal::RecordNotFound => self.not_found(error, refusal),
            Refusal::AnonymousDiscoveryDisabled
            | Refusal::CredentialsMissing
            | Refusal::MethodNotListed
            | Refusal::ScopeRequired
            | Refusal::ClaimBeyondGrant
            | Refusal::ScopeNotGranted
            | Refusal::MalformedScope(_) => self.authority(error, refusal),
            Refusal::UnsupportedContentType(_)
            | Refusal::ConflictingTarget(_)
            | Refusal::Json(_)
            | Refusal::InputNotObject
            | Refusal::InputInvalid(_) => self.input(error, refusal),
            Refusal::Named { name, message } => {
                head(
                    error,
                    name,
                    message.as_deref().unwrap_or("the endpoint declares this condition; see its description"),
                );
                self.place(error);
                match self.scratch.details.as_slice() {
                    [] => error.raw("details", "{}"),
                    details => error.raw("details", std::str::from_utf8(details).unwrap_or("{}")),
                };
            }
            Refusal::IdempotencyConflict => {
                head(
                    error,
                    "idempotency-conflict",
                    "the Idempotency-Key was used for other input; take a new key for a new request",
                );
            }
            Refusal::HandlerFailed => {
                head(
                    error,
                    "handler-failed",
                    "the server failed to carry this out; its operator's log has the reason",
                );
            }
            Refusal::OutputInvalid => {
                head(
                    error,
                    "output-validation-failed",
                    "the server's own answer broke the endpoint's contract and was withheld",
                );
            }
            Refusal::RecordsWithheld
            | Refusal::IssuerUnproven
            | Refusal::NotIssuer
            | Refusal::LifecycleConflict(..) => self.audit(error, refusal),
            Refusal::AuditUnavailable => {
                head(
                    error,
                    "audit-unavailable",
                    "the server cannot keep its records at present and so changes nothing; try again later",
                );
            }
            Refusal::SynthesisDisabled => {
                let explanation = "this server does not take part in contract negotiation; use the endpoints its manifest lists";
                head(error, "proposal-rejected", "proposals are refused");
                error.str("reason", "synthesis-disabled").str("explanation", explanation);
            }
        }
    }

    fn wire(&self, error: &mut Error<'_>, fault: &WireFault) {
        head(error, fault.kind.code(), fault.detail.message());
        match fault.kind {
            WireFaultKind::TooLarge => {
                error.u64("limit_bytes", self.engine.registry.limits.body_bytes.into())
            }
            _ => error.str("detail", fault.detail.message()),
        };
    }

    fn caller(&self, error: &mut Error<'_>, refusal: &Refusal<'_>) {
        let agent_id = self.request.agent_id().map_or(&[][..], |(id, _)| id);
        match refusal {
            Refusal::AgentStatus(status @ AgentStatus::Retired) => {
                head(error, "agent-revoked", "the agent is retired on this server and cannot act any more");
                error.bytes_lossy("agent_id", agent_id).str("agent_status", status.as_str());
            }
            Refusal::AgentStatus(status) => {
                head(
                    error,
                    "agent-suspended",
                    "the agent is suspended on this server; its operator can reinstate it",
                );
                error.bytes_lossy("agent_id", agent_id).str("agent_status", status.as_str());
            }
            Refusal::UnknownAgent => {
                head(
                    error,
                    "agent-unauthenticated",
                    "this server does not know the agent; register its identity document here",
                );
                error.str("reason", "unknown-agent").bytes_lossy("agent_id", agent_id);
            }
            Refusal::CertificateMismatch => {
                head(
                    error,
                    "agent-unauthenticated",
                    "the connection's certificate is not the agent's; connect with one that names it",
                );
                error.str("reason", "certificate-mismatch").bytes_lossy("agent_id", agent_id);
            }
            _ => {
                head(error, "invalid-agent-id", "Agent-ID is not of the right form");
                error.str("detail", "an Agent-ID is 64 lowercase hexadecimal digits");
            }
        }
    }

    fn method(&self, error: &mut Error<'_>, token: &[u8]) {
        let registry = self.engine.registry;
        head(
            error,
            "method-violation",
            "the method is neither in the catalog nor one of this server's custom methods",
        );
        error.bytes_lossy("method", token);
        error.array("suggestions", |suggestions| {
            for id in closest(registry, token).into_iter().flatten() {
                suggestions.str(registry.method_name(id));
            }
        });
        error.str("catalog_version", registry.str(registry.catalog_version));
    }

    /// What INSPECT and the methods of lifecycles refuse.
    fn audit(&self, error: &mut Error<'_>, refusal: &Refusal<'_>) {
        match refusal {
            Refusal::IssuerUnproven => {
                head(
                    error,
                    "agent-unauthenticated",
                    "only the issuer of the agent's Genesis may do this: show a certificate of its key",
                );
                error.str("reason", "certificate-required");
            }
            Refusal::NotIssuer => {
                head(
                    error,
                    "forbidden",
                    "the certificate shown is not of the key that issued the agent's Genesis",
                );
            }
            Refusal::LifecycleConflict(method, status) => {
                let message = match status {
                    AgentStatus::Retired => "the agent is retired, which is for good",
                    _ => "the agent's status does not allow this; REINSTATE it first",
                };
                head(error, "lifecycle-conflict", message);
                error.str("method", method).str("agent_status", status.as_str());
            }
            _ => head(error, "forbidden", "this server does not show its records to this agent"),
        }
    }

    /// Method and path in effect.
    fn place(&self, error: &mut Error<'_>) {
        let method = self.trail.method.map_or("", |id| self.engine.registry.method_name(id));
        error.str("method", method).bytes_lossy("path", self.trail.path);
    }

    fn not_found(&self, error: &mut Error<'_>, refusal: &Refusal<'_>) {
        match refusal {
            Refusal::AgentNotFound => head(error, "agent-not-found", "this server hosts no agent of that id"),
            Refusal::RecordNotFound => head(
                error,
                "record-not-found",
                "this server keeps no such record; retention may have taken it",
            ),
            Refusal::GenesisNotFound => head(
                error,
                "genesis-not-found",
                "no Genesis is loaded for the agent; name another in Agent-ID or ?agent_id=",
            ),
            _ => head(
                error,
                "endpoint-not-found",
                "no endpoint is at this path; DISCOVER /methods lists what there is",
            ),
        }
        self.place(error);
    }

    /// 405 always says what would be allowed and what is redirected (draft: Status Codes).
    fn not_allowed(&mut self, error: &mut Error<'_>, refusal: &Refusal<'_>) {
        match refusal {
            Refusal::PolicyRefused => {
                head(
                    error,
                    "method-not-allowed-by-policy",
                    "this server's method policy does not admit the method",
                );
            }
            _ => head(
                error,
                "method-not-allowed",
                "the path has no endpoint for this method; try one that it has",
            ),
        }
        self.place(error);
        self.allowed_methods(error);
        self.redirects(error);
    }

    /// Usually one template matches, whose list was rendered when it was compiled; several are merged.
    fn allowed_methods(&mut self, error: &mut Error<'_>) {
        let Registry { router, known_paths, path_methods, text, .. } = self.engine.registry;
        let Scratch { segments, allowed, .. } = &mut *self.scratch;
        allowed.clear();
        let (mut matches, mut rendered) = (0, "[]");
        router.known(self.trail.path, segments, text, &mut |id| {
            if let Some(known) = known_paths.get(id.0 as usize) {
                matches += 1;
                rendered = known.allowed_json.of(text);
                allowed.extend_from_slice(known.methods.of(path_methods));
            }
        });
        if matches < 2 {
            error.raw("allowed_methods_for_path", rendered);
            return;
        }
        allowed.sort_unstable();
        allowed.dedup();
        error.array("allowed_methods_for_path", |array| {
            for id in allowed.iter() {
                array.str(self.engine.registry.method_name(*id));
            }
        });
    }

    /// One entry per method: the first in file order that applies to the path.
    fn redirects(&self, error: &mut Error<'_>) {
        let registry = self.engine.registry;
        if !registry.path_bound_redirects {
            error.raw("redirects_for_path", registry.str(registry.general_redirects_json));
            return;
        }
        error.object("redirects_for_path", |map| {
            let mut last = None;
            for entry in registry.redirects.iter() {
                let path = registry.str(entry.from_path).as_bytes();
                if last != Some(entry.from) && (path.is_empty() || path == self.trail.path) {
                    last = Some(entry.from);
                    map.str(registry.method_name(entry.from), registry.method_name(entry.to));
                }
            }
        });
    }

    fn authority(&self, error: &mut Error<'_>, refusal: &Refusal<'_>) {
        match refusal {
            Refusal::MalformedScope(item) => {
                head(error, "bad-request", "Authority-Scope holds an item that is no scope");
                error
                    .str("detail", "scopes are `domain:action` or `domain:*`, separated by commas")
                    .str("scope", item);
            }
            Refusal::MethodNotListed => {
                head(
                    error,
                    "forbidden",
                    "the agent's identity document does not list the method under requires.methods",
                );
                self.place(error);
            }
            Refusal::ClaimBeyondGrant | Refusal::ScopeNotGranted => {
                head(
                    error,
                    "scope-violation",
                    "the request exceeds the authority that the agent's identity document grants",
                );
                error.str("reason", "scope-exceeded");
                self.missing_scopes(error, refusal);
            }
            Refusal::ScopeRequired => {
                let explanation = "the identity document grants what Authority-Scope omits: claim it and repeat the request";
                authorization_required(error, "scope-required", explanation);
                error.object("details", |details| self.missing_scopes(details, refusal));
            }
            Refusal::AnonymousDiscoveryDisabled => {
                let explanation = "this server answers discovery to known agents only: send an Agent-ID";
                authorization_required(error, "anonymous-discovery-disabled", explanation);
                error.object("details", |_| {});
            }
            _ => {
                let explanation =
                    "only discovery is open to anonymous callers: send the Agent-ID of an agent known here";
                authorization_required(error, "credentials-missing", explanation);
                error.object("details", |_| {});
            }
        }
    }

    fn missing_scopes(&self, error: &mut Error<'_>, refusal: &Refusal<'_>) {
        let registry = self.engine.registry;
        let claim = ScopeList(self.request.field(Field::AuthorityScope).unwrap_or(""));
        let is_granted =
            |scope: &str| self.trail.agent.is_some_and(|agent| granted(self.engine, agent, scope));
        let required = self.trail.endpoint.map_or(Rows::NONE, |id| registry.endpoint(id).required_scopes);
        error.array("missing_scopes", |missing| {
            if matches!(refusal, Refusal::ClaimBeyondGrant) {
                for scope in claim.iter().filter(|scope| !is_granted(scope)) {
                    missing.str(scope);
                }
                return;
            }
            let beyond = matches!(refusal, Refusal::ScopeNotGranted);
            for scope in required.of(&registry.scopes).iter().map(|scope| registry.str(*scope)) {
                if !(claim.covers(scope) || beyond && is_granted(scope)) {
                    missing.str(scope);
                }
            }
        });
    }

    fn input(&self, error: &mut Error<'_>, refusal: &Refusal<'_>) {
        match refusal {
            Refusal::UnsupportedContentType(value) => {
                head(error, "unsupported-content-type", "the body's Content-Type is not JSON");
                error.str("detail", "send application/json, application/vnd.agtp+json or no Content-Type");
                error.str("content_type", value);
            }
            Refusal::Json(fault) => {
                head(error, "invalid-json", "the body is not I-JSON (RFC 7493)");
                error.str("detail", fault.message());
                if let Some(offset) = fault.offset() {
                    error.u64("offset", offset as u64);
                }
            }
            Refusal::ConflictingTarget(target) => {
                head(error, "conflicting-target", "the path and the body's target name different things");
                error
                    .str("detail", "leave target out: it is deprecated, and the path says what is asked for");
                error.bytes_lossy("path", self.trail.path).str("target", target);
            }
            Refusal::InputInvalid(Violations(violations)) => invalid(error, violations),
            _ => invalid(
                error,
                &[Violation {
                    field: String::new(),
                    schema_path: "/type".to_owned(),
                    message: "the body is JSON and not an object; send an object".to_owned(),
                }],
            ),
        }
    }
}

#[inline]
fn head(error: &mut Error<'_>, code: &str, message: &str) {
    error.str("code", code).str("message", message);
}

fn authorization_required(error: &mut Error<'_>, kind: &str, explanation: &str) {
    head(error, "authorization-required", "authority that the caller could obtain is absent");
    error.str("type", kind).str("explanation", explanation);
}

/// The 422 of facts page 3: the first violation in front, all of them (up to sixteen) behind.
fn invalid(error: &mut Error<'_>, violations: &[Violation]) {
    head(error, "input-validation-failed", "the input does not satisfy the endpoint's input schema");
    if let Some(first) = violations.first() {
        error.str("detail", &first.message).str("field", &first.field).str("schema_path", &first.schema_path);
    }
    error.array("errors", |errors| {
        for violation in violations {
            errors.object(|o| {
                o.str("field", &violation.field);
                o.str("schema_path", &violation.schema_path);
                o.str("message", &violation.message);
            });
        }
    });
}
