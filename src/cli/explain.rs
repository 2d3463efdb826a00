//! `agtp explain`: what a status means, and what to do about it.

use super::{Failure, output};
use crate::wire::Status;
use std::process::ExitCode;

/// Arguments of `agtp explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  agtp explain 459")]
pub(super) struct Args {
    /// A status, such as 459; without one, all of them
    #[arg(value_name = "CODE")]
    code: Option<u16>,
}

/// Runs `agtp explain`.
pub(super) fn run(args: Args) -> Result<ExitCode, Failure> {
    let asked: Vec<_> = match args.code {
        None => Status::ALL.to_vec(),
        Some(code) => Status::ALL.iter().copied().filter(|status| status.code() == code).collect(),
    };
    if asked.is_empty() {
        let code = args.code.unwrap_or_default();
        return Err(Failure(format!("{code} is no status of AGTP; `agtp explain` lists them all")));
    }
    let texts: Vec<_> = asked.into_iter().map(text).collect();
    output::print(texts.join("\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn text(status: Status) -> String {
    let (meaning, remedy) = explained(status);
    format!("{} {}\n  {meaning}\n  {remedy}\n", status.code(), status.reason())
}

/// What a status means, and what its receiver does.
const fn explained(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Ok => ("The request was done, and the body is its output.", "Nothing is left to do."),
        Status::Accepted => ("The request was taken and is not done yet.", "Ask later, as the body says."),
        Status::NoContent => ("The request was done, and there is nothing to say.", "Nothing is left to do."),
        Status::NegotiationInProgress => {
            ("A proposal is being negotiated.", "Wait, and ask for the contract as the body says.")
        }
        Status::AuthorizationRequired => (
            "Who asks, or under which authority, is missing: an Agent-ID, a scope, or the right to discover.",
            "error.type says which. Send Agent-ID, or Authority-Scope with error.details.missing_scopes.",
        ),
        Status::ProposalApproved => {
            ("A proposed endpoint was approved.", "Call it as the body describes, with Contract-Synthesized.")
        }
        Status::BadRequest => (
            "The request is malformed: its line, a header, its length, or its body is no JSON.",
            "error.code says which part; error.detail what was wrong with it.",
        ),
        Status::Unauthorized => (
            "The Agent-ID is not known here, or the certificate names another agent.",
            "Register the agent with the server's operator, or use the certificate that belongs to it.",
        ),
        Status::Forbidden => ("The agent may not do this here.", "Ask the operator, or use another method."),
        Status::NotFound => (
            "Nothing is at this path, under any method.",
            "`agtp call DISCOVER agtp://HOST/methods` lists what there is.",
        ),
        Status::MethodNotAllowed => (
            "The path exists, but not with this method, or the operator's policy refuses the method.",
            "Use one of error.allowed_methods_for_path.",
        ),
        Status::Timeout => {
            ("It took too long to arrive or to be answered.", "Try again, with an Idempotency-Key.")
        }
        Status::Conflict => {
            ("The Idempotency-Key was used with another input.", "Use a new key for a new request.")
        }
        Status::Gone => ("The agent was revoked.", "Its identity is not coming back; use another agent."),
        Status::ContentTooLarge => {
            ("The body is larger than error.limit_bytes.", "Send less; the connection is closed.")
        }
        Status::UnprocessableEntity => (
            "The input breaks the endpoint's schema, or the endpoint answered one of its named errors.",
            "error.field and error.detail say what is wrong with the input; otherwise error.code is the endpoint's.",
        ),
        Status::TooEarly => {
            ("The request came before it may be handled.", "Send it again on a settled connection.")
        }
        Status::RateLimited => ("Too many requests.", "Wait, and ask less often."),
        Status::ScopeViolation => (
            "The claimed Authority-Scope goes beyond what the agent was granted.",
            "Claim less, or have error.missing_scopes granted to the agent.",
        ),
        Status::BudgetExceeded => {
            ("The request would cost more than its budget.", "Raise the budget, or ask for less.")
        }
        Status::ZoneViolation => {
            ("The request leaves the agent's governance zone.", "Use a server of the agent's zone.")
        }
        Status::CounterpartyUnverified => {
            ("The other party could not be verified.", "Have it verified, or deal with another.")
        }
        Status::MethodViolation => (
            "The method is no verb of the catalog, and none that this server admits.",
            "error.suggestions names the nearest; `agtp catalog search TEXT` finds others.",
        ),
        Status::EndpointViolation => (
            "The path breaks the grammar or carries a method name in error.segment.",
            "Put the verb in the method and the thing in the path: BOOK /rooms/12, not POST /book/12.",
        ),
        Status::RcnsContractAvailable => {
            ("There is a contract for what was asked.", "Take it up as the body says.")
        }
        Status::InsufficientBudget => {
            ("The budget does not suffice for a negotiation.", "Raise it, or call an endpoint.")
        }
        Status::ProposalRejected => {
            ("A proposal was rejected.", "error.reason and error.explanation say why; change it or drop it.")
        }
        Status::RcnsNoContract => {
            ("No contract came of the negotiation.", "Use what DISCOVER /methods lists.")
        }
        Status::ServerError => (
            "The handler failed, or its answer broke the endpoint's own output schema.",
            "It is not the caller's fault; the server's log has the cause.",
        ),
        Status::NotImplemented => ("The server does not implement this.", "Leave the header or method out."),
        Status::Unavailable => {
            ("The agent is suspended, or the server cannot serve just now.", "Try again later.")
        }
        Status::DelegationFailure => {
            ("A delegated task failed.", "The body says at which agent; delegate anew.")
        }
        Status::AuthorityChainBroken => {
            ("A link of the delegation chain does not hold.", "Obtain a fresh delegation.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_explained_in_two_sentences() {
        for &status in Status::ALL {
            let (meaning, remedy) = explained(status);
            assert!(meaning.ends_with('.') && remedy.ends_with('.') && meaning != remedy, "{status:?}");
        }
        assert!(text(Status::MethodViolation).starts_with("459 Method Violation\n  The method"));
    }
}
