//! Chains of a server that runs: INSPECT, from each head backwards.

use super::super::tls::Reach;
use super::super::{Failure, agent};
use super::verify::{Finding, hex, name};
use crate::audit::{ChainCheck, ChainKey, Claims, Head};
use crate::client::{Connection, Request};
use crate::identity::parse_agent_id;
use crate::wire::Uri;
use serde_json::Value;
use std::time::Duration;

/// Time for each answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What the first record of a chain names as the one before.
const START: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Somebody who asks.
struct Asker {
    connection: Connection,
    agent_id: String,
    scopes: String,
}

/// Walks the chain of every agent that the server names, and that of no agent.
pub(super) fn walk(
    target: &str,
    agent: Option<&str>,
    reach: &Reach,
    keys: &[[u8; 32]],
) -> Result<Vec<Finding>, Failure> {
    let uri = Uri::parse(target).map_err(|fault| Failure(format!("{target}: {fault}")))?;
    let (agent_id, scopes) = match (agent.map(agent::load).transpose()?, uri.agent_id) {
        (Some(caller), _) => (caller.agent_id, caller.scopes.join(",")),
        (None, Some(agent_id)) => (agent_id.to_owned(), String::new()),
        (None, None) => {
            return Err(Failure(format!(
                "{target} tells records to agents only: name one it knows with --agent, or agtp://AGENT_ID@HOST"
            )));
        }
    };
    let mut asker = Asker { connection: reach.connect(&uri, TIMEOUT)?, agent_id, scopes };
    let mut findings = Vec::new();
    for key in asker.chains()? {
        findings.extend(asker.chain(key, keys)?);
    }
    Ok(findings)
}

impl Asker {
    /// The chains of the agents that the server names.
    fn chains(&mut self) -> Result<Vec<ChainKey>, Failure> {
        let agents = self.ask("DISCOVER", "/agents", "{}")?.unwrap_or_default();
        let ids = agents.as_array().into_iter().flatten().filter_map(|agent| agent["agent_id"].as_str());
        let ids = ids.filter_map(|id| parse_agent_id(id.as_bytes()));
        Ok(std::iter::once(ChainKey::NOBODY).chain(ids.map(|id| ChainKey::of_agent(&id))).collect())
    }

    /// Walks one chain; nothing if it has no record yet.
    fn chain(&mut self, key: ChainKey, keys: &[[u8; 32]]) -> Result<Option<Finding>, Failure> {
        let agent = key.agent().map_or_else(|| "nobody".to_owned(), |agent| hex(&agent));
        let body = format!(r#"{{"target":"chain_head","agent_id":"{agent}"}}"#);
        let Some(head) = self.ask("INSPECT", "/", &body)? else { return Ok(None) };
        let mut id = head["audit_id"].as_str().unwrap_or_default().to_owned();
        let mut position = head["length"].as_u64().unwrap_or_default();
        let mut finding = Finding { key, before: 0, checked: 0, signed: 0, broken: None };
        while id != START {
            let Some(record) = self.record(&id)? else {
                // What retention took away is not there to be asked for.
                finding.before = position;
                break;
            };
            position = position.saturating_sub(1);
            let broken = |why: &str| Some((position, Some(id.clone()), why.to_owned()));
            if name(record.as_bytes()) != id {
                finding.broken = broken("its name is not its hash");
                break;
            }
            let previous = Claims::read(record.as_bytes(), false).map(|claims| claims.previous);
            let anchor = previous.as_ref().and_then(|id| parse_agent_id(id.as_bytes()));
            let anchor = Head { id: anchor.unwrap_or_default(), len: position };
            let mut check = ChainCheck::new(key, anchor, keys);
            if let Err(why) = check.next(position, record.as_bytes()) {
                finding.broken = broken(&why.to_string());
                break;
            }
            finding.checked += 1;
            finding.signed += check.signed();
            id = previous.unwrap_or_default();
        }
        Ok(Some(finding))
    }

    /// The record of that name.
    fn record(&mut self, id: &str) -> Result<Option<String>, Failure> {
        let body = format!(r#"{{"target":"audit","audit_id":"{id}"}}"#);
        let answer = self.ask("INSPECT", "/", &body)?;
        Ok(answer.and_then(|answer| answer["attribution_record"].as_str().map(str::to_owned)))
    }

    /// The body of a 200; nothing for a 404.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Option<Value>, Failure> {
        let mut request = Request::new(method, path).map_err(Failure::new)?;
        request.header("Agent-ID", &self.agent_id).map_err(Failure::new)?;
        if !self.scopes.is_empty() {
            request.header("Authority-Scope", &self.scopes).map_err(Failure::new)?;
        }
        request.body(body.as_bytes().to_vec());
        let response = self.connection.call(&request).map_err(Failure::new)?;
        match response.status() {
            200 => Ok(serde_json::from_slice(response.body()).ok()),
            404 => Ok(None),
            status => Err(Failure(format!(
                "{method} {path} was answered with {status} {}: {}",
                response.reason(),
                serde_json::from_slice::<Value>(response.body()).unwrap_or_default()["error"]["message"]
                    .as_str()
                    .unwrap_or("no reason is given")
            ))),
        }
    }
}
