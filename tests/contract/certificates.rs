//! What a client's certificate proves, and what `Agent-ID` may say beside it (D31).

use super::common::{Answer, Wire, answers};
use super::support::{Deployment, Endpoint, Req, TESTER};
use agtp::engine::{Engine, Function};
use agtp::handler::{Context, EndpointError, OwnedContext, OwnedReply, Reply};
use agtp::identity::{PeerIdentity, parse_agent_id};
use agtp::json::ObjectWriter;
use serde_json::json;

const OTHER: &str = "2222222222222222222222222222222222222222222222222222222222222222";
const RETIRED: &str = "3333333333333333333333333333333333333333333333333333333333333333";

/// A certificate that names this agent, of a key of all fives.
fn certificate(agent: Option<&str>) -> PeerIdentity {
    let agent_id = agent.and_then(|digits| parse_agent_id(digits.as_bytes()));
    assert_eq!(agent_id.is_some(), agent.is_some());
    PeerIdentity { agent_id, key_fingerprint: Some([5; 32]) }
}

fn tell(ctx: &Context<'_>, o: &mut ObjectWriter<'_>) {
    o.u64("verified", ctx.verified_agent().map_or(0, |id| id[0].into()));
    o.u64("key", ctx.peer().and_then(|peer| peer.key_fingerprint).map_or(0, |key| key[0].into()));
}

fn show(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    reply.object(|o| tell(ctx, o));
    Ok(())
}

async fn show_later(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
    std::future::ready(()).await;
    Ok(OwnedReply::object(|o| tell(&ctx.context(), o)))
}

fn engine(settings: &str) -> Engine<'static> {
    let functions = [Function::plain("show", show), Function::asynchronous("show_later", show_later)];
    Deployment::with_settings(&format!("[policies]\nscope_required_for_invocation = false\n{settings}"))
        .agent("other", &json!({"agent_id": OTHER, "requires": {"scopes": ["test:*"]}}))
        .agent("retired", &json!({"agent_id": RETIRED, "status": "retired"}))
        .endpoint(&Endpoint::echo("FETCH /now").function("show"))
        .endpoint(&Endpoint::echo("FETCH /later").function("show_later"))
        .engine_with(&functions)
}

fn ask(engine: &Engine<'_>, peer: Option<PeerIdentity>, request: &Req) -> Answer {
    let wire = Wire::new(engine);
    let mut wire = match peer {
        Some(peer) => wire.proven(peer),
        None => wire,
    };
    answers(&wire.send(&request.bytes())).remove(0)
}

#[test]
fn a_handler_sees_who_was_verified() {
    let engine = engine("");
    for place in ["FETCH /now", "FETCH /later"] {
        let request = Req::new(place);
        for (peer, seen) in [
            (Some(certificate(Some(TESTER))), json!({"verified": 0x11, "key": 5})),
            (None, json!({"verified": 0, "key": 0})),
        ] {
            let answer = ask(&engine, peer, &request);
            assert_eq!((answer.status, &answer.body), (200, &seen), "{place}");
        }
    }
}

#[test]
fn an_agent_id_that_the_certificate_does_not_name_is_refused() {
    let engine = engine("");
    for peer in [certificate(Some(OTHER)), certificate(None)] {
        // Known or not, retired or not: who is not the agent learns nothing of it.
        for named in [TESTER, RETIRED, &"4".repeat(64)] {
            let answer = ask(&engine, Some(peer), &Req::anonymous("FETCH /now").header("Agent-ID", named));
            assert_eq!(
                answer.body,
                json!({"error": {
                    "code": "agent-unauthenticated",
                    "message": "the connection's certificate is not the agent's; connect with one that names it",
                    "reason": "certificate-mismatch",
                    "agent_id": named,
                }})
            );
            assert_eq!(answer.status, 401);
            assert_eq!(answer.header("Trust-Tier"), None, "the answer vouches for nobody");
        }
    }
    // The old header is held to it as well.
    let old = Req::anonymous("FETCH /now").header("Target-Agent", TESTER);
    assert_eq!(ask(&engine, Some(certificate(Some(OTHER))), &old).status, 401);
}

#[test]
fn the_form_is_looked_at_first_and_everything_else_later() {
    let engine = engine("");
    let other = Some(certificate(Some(OTHER)));
    let malformed = Req::anonymous("FETCH /now").header("Agent-ID", "abc");
    assert_eq!(ask(&engine, other, &malformed).status, 400);
    assert_eq!(ask(&engine, other, &Req::new("FROBNICATE /now")).status, 401);
    assert_eq!(ask(&engine, other, &Req::new("FETCH /nowhere")).status, 401);
    let delegated = Req::new("FETCH /now").header("Delegation-Chain", "a");
    assert_eq!(ask(&engine, other, &delegated).status, 501);
    // Its own certificate says nothing about whether an agent may act, or is known.
    let own = |id: &str| {
        let request = Req::anonymous("FETCH /now").header("Agent-ID", id);
        ask(&engine, Some(certificate(Some(id))), &request)
    };
    assert_eq!(own(RETIRED).status, 410);
    let unknown = own(&"4".repeat(64));
    assert_eq!((unknown.status, &unknown.body["error"]["reason"]), (401, &json!("unknown-agent")));
}

#[test]
fn a_request_that_names_nobody_is_anonymous_whatever_the_certificate() {
    let engine = engine("");
    let peer = Some(certificate(Some(TESTER)));
    assert_eq!(ask(&engine, peer, &Req::anonymous("DISCOVER")).status, 200);
    assert_eq!(ask(&engine, peer, &Req::anonymous("FETCH /now")).status, 262);
}

#[test]
fn where_certificates_are_required_only_they_verify_an_identity() {
    let told = |engine: &Engine<'_>, peer, request: &Req| {
        ask(engine, peer, request).body.as_array().is_some_and(|agents| !agents.is_empty())
    };
    let settings = "[agents]\ndisclosure = \"authenticated\"\n";
    let (optional, required) = (engine(settings), engine(settings).with_certificates_required());
    let (request, own) = (Req::new("DISCOVER /agents"), Some(certificate(Some(TESTER))));
    assert!(told(&optional, None, &request) && told(&optional, own, &request));
    assert!(!told(&required, None, &request) && told(&required, own, &request));
    // A certificate without an Agent-ID is no known agent.
    let anonymous = Req::anonymous("DISCOVER /agents");
    assert!(!told(&optional, own, &anonymous) && !told(&required, own, &anonymous));
    let manifest = Req::new("DISCOVER").header("Accept", "application/vnd.agtp.manifest+json");
    let hosted = |peer| ask(&required, peer, &manifest).body["hosted_agents"].as_array().map(Vec::len);
    assert!(hosted(own) > Some(0) && hosted(None) == Some(0), "{:?} {:?}", hosted(own), hosted(None));
}
