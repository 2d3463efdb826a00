//! ACTIVATE, DEACTIVATE, REINSTATE, REVOKE, DEPRECATE (facts page 9; D31).

use super::inspect::named;
use super::refusal::Refusal;
use super::request::Request;
use super::respond::Answer;
use super::{Engine, Trail};
use crate::audit::{Came, Change, Held, LifecycleAuth, Wish, hex};
use crate::json::{Value, write_object};
use crate::wire::Status;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// Changes the status of the agent that the input names.
pub(super) fn run<'r>(
    engine: &'r Engine<'_>,
    request: &Request<'r>,
    trail: &Trail<'r>,
    change: Change,
    input: Value<'_>,
    (body, held): (&mut Vec<u8>, &mut Held),
) -> Result<Answer<'r>, Refusal<'r>> {
    let Some(ledger) = &engine.ledger else { return Err(Refusal::NotServed) };
    let text = |key| input.get(key).and_then(|value: Value<'_>| value.as_str());
    let agent_id = text("agent_id").unwrap_or_default();
    let agent = named(engine, agent_id);
    authorise(ledger.lifecycle_auth(), request.peer.and_then(|peer| peer.key_fingerprint.as_ref()), || {
        let agent = agent.as_ref().ok()?;
        issuer_of(engine.agents.str(agent.genesis))
    })?;
    let agent = agent?;
    let wish = Wish {
        change,
        reason: text("reason"),
        actor: text("actor"),
        requested_by: trail.agent.map(|caller| &caller.id),
        unix_ms: request.now.unix_ms,
    };
    body.clear();
    match ledger.change(engine.row_of(agent), agent, &wish, held) {
        Came::Changed { from, to, event } => write_object(body, |o| {
            o.str("agent_id", agent_id).str("status", to.as_str()).str("previous_status", from.as_str());
            o.bool("noop", false).bytes_lossy("event_id", &hex(&event));
        }),
        Came::Unchanged(status) if change.of(status).is_some() => write_object(body, |o| {
            o.str("agent_id", agent_id).str("status", status.as_str()).bool("noop", true);
        }),
        Came::Unchanged(status) => return Err(Refusal::LifecycleConflict(change.method(), status)),
        Came::Unkept => return Err(Refusal::AuditUnavailable),
    }
    Ok(Answer::rendered(Status::Ok))
}

/// Whether who shows a certificate of this key may do it. What agents there are is told to no one else.
fn authorise<'r>(
    auth: LifecycleAuth,
    peer_key: Option<&[u8; 32]>,
    issuer: impl FnOnce() -> Option<[u8; 32]>,
) -> Result<(), Refusal<'r>> {
    match (auth, peer_key) {
        (LifecycleAuth::Open, _) => Ok(()),
        (LifecycleAuth::GenesisIssuer, None) => Err(Refusal::IssuerUnproven),
        (LifecycleAuth::GenesisIssuer, Some(key)) if issuer().as_ref() == Some(key) => Ok(()),
        (LifecycleAuth::GenesisIssuer, Some(_)) => Err(Refusal::NotIssuer),
    }
}

/// SHA-256 of the public key that issued a Genesis, if there is one.
fn issuer_of(genesis: &str) -> Option<[u8; 32]> {
    let genesis: serde_json::Value = serde_json::from_str(genesis).ok()?;
    let key = URL_SAFE_NO_PAD.decode(genesis.get("issuer_public_key")?.as_str()?).ok()?;
    Some(Sha256::digest(key).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shows_the_issuer_s_key_may_do_it_and_nobody_else() {
        let key = [7; 32];
        let genesis = format!(r#"{{"issuer_public_key":"{}"}}"#, URL_SAFE_NO_PAD.encode(key));
        let issuer: [u8; 32] = Sha256::digest(key).into();
        assert_eq!(issuer_of(&genesis), Some(issuer));
        assert_eq!((issuer_of(""), issuer_of("{}")), (None, None));
        let ask = |auth, shown: Option<[u8; 32]>, of: Option<[u8; 32]>| match authorise(
            auth,
            shown.as_ref(),
            || of,
        ) {
            Ok(()) => 200,
            Err(Refusal::IssuerUnproven) => 401,
            Err(_) => 403,
        };
        let only = LifecycleAuth::GenesisIssuer;
        assert_eq!(ask(only, Some(issuer), Some(issuer)), 200);
        assert_eq!(ask(only, Some(key), Some(issuer)), 403);
        assert_eq!(ask(only, Some(issuer), None), 403);
        assert_eq!(ask(only, None, Some(issuer)), 401);
        assert_eq!(ask(only, None, None), 401);
        assert_eq!(ask(LifecycleAuth::Open, None, None), 200);
    }
}
