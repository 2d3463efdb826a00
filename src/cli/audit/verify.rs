//! `agtp audit verify`.

use super::super::tls::Reach;
use super::super::{Failure, output, signing};
use super::remote;
use crate::audit::{ChainCheck, ChainKey, Store, StoreError, StoreOptions, StoredChain};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `agtp audit verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each chain is walked from its first record that is kept to its last: every record must be named by its hash, name the one
before it, be of the chain's agent and, with --key, be signed by one of the keys. A store is read in the directory of
[audit] dir, while no server uses it. A server is asked with INSPECT, from each chain's head backwards.

Exit code: 0 all chains are whole, 1 one is broken, 2 nothing could be verified.

Examples:
  agtp audit verify audit --key server.pem
  agtp audit verify agtp://localhost --agent concierge --json")]
pub(in crate::cli) struct Args {
    /// The directory of a store, or agtp://[AGENT_ID@]HOST[:PORT]
    target: String,
    /// A key that records may be signed by: a public one (PEM, or 32 bytes in base64url) or the private one's PEM; may
    /// be repeated
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// Ask a server as this agent: an identity document, or its name in ./agents
    #[arg(long, value_name = "NAME|FILE")]
    agent: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// For machines
    #[arg(long)]
    json: bool,
}

/// What was found of a chain.
pub(super) struct Finding {
    pub(super) key: ChainKey,
    /// Records that retention took away before the first.
    pub(super) before: u64,
    pub(super) checked: u64,
    pub(super) signed: u64,
    /// The entry it breaks at: its position, its name if it has one, and why.
    pub(super) broken: Option<(u64, Option<String>, String)>,
}

/// Runs `agtp audit verify`.
pub(in crate::cli) fn run(args: Args) -> Result<ExitCode, Failure> {
    let keys = args.key.iter().map(|file| signing::any_public_key(file)).collect::<Result<Vec<_>, _>>()?;
    let findings = if args.target.starts_with("agtp://") {
        remote::walk(&args.target, args.agent.as_deref(), &args.reach, &keys)?
    } else {
        of_store(Path::new(&args.target), &keys)?
    };
    let broken = findings.iter().any(|finding| finding.broken.is_some());
    let shown = if args.json { as_json(&findings).to_string() } else { as_text(&findings, !keys.is_empty()) };
    output::print(format!("{}\n", shown.trim_end()).as_bytes())?;
    Ok(ExitCode::from(u8::from(broken)))
}

fn of_store(dir: &Path, keys: &[[u8; 32]]) -> Result<Vec<Finding>, Failure> {
    let failed = |error: StoreError| Failure(format!("{} cannot be read: {error}", dir.display()));
    // Opening one would make it.
    if !Store::is_there(dir) {
        return Err(Failure(format!("{} holds no store; name the directory of [audit] dir", dir.display())));
    }
    let store = Store::open(dir, StoreOptions::default()).map_err(failed)?;
    let mut findings = Vec::new();
    let walked = store.for_each_chain(&mut |chain| {
        findings.push(check(chain, keys)?);
        Ok(())
    });
    walked.map_err(failed)?;
    Ok(findings)
}

fn check(chain: StoredChain<'_>, keys: &[[u8; 32]]) -> Result<Finding, StoreError> {
    let mut check = ChainCheck::new(chain.key, chain.anchor, keys);
    let mut broken = None;
    for entry in chain.entries {
        let (position, record) = entry?;
        if let Err(why) = check.next(position, &record) {
            broken = Some((position, Some(name(&record)), why.to_string()));
            break;
        }
    }
    Ok(Finding {
        key: chain.key,
        before: chain.anchor.len,
        checked: check.checked(),
        signed: check.signed(),
        broken,
    })
}

/// The name of a record.
pub(super) fn name(record: &[u8]) -> String {
    hex(&sha2::Digest::finalize(<sha2::Sha256 as sha2::Digest>::new_with_prefix(record)))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whose chain it is.
fn title(key: &ChainKey) -> String {
    let agent = key.agent().map_or_else(|| "no agent".to_owned(), |agent| format!("agent {}", hex(&agent)));
    if key.is_lifecycle() { format!("lifecycle of {agent}") } else { agent }
}

fn as_text(findings: &[Finding], with_keys: bool) -> String {
    let mut text = String::new();
    for finding in findings {
        let title = title(&finding.key);
        let _ = match &finding.broken {
            Some((position, id, why)) => writeln!(
                text,
                "{title}: broken at entry {position}{}: {why}; {} before it are right",
                id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default(),
                finding.checked
            ),
            None => writeln!(text, "{title}: {} entries{}", finding.checked, remarks(finding, with_keys)),
        };
    }
    let broken = findings.iter().filter(|finding| finding.broken.is_some()).count();
    let _ = match broken {
        0 => writeln!(text, "{} chains, all whole", findings.len()),
        _ => writeln!(text, "{broken} of {} chains are broken", findings.len()),
    };
    text
}

fn remarks(finding: &Finding, with_keys: bool) -> String {
    let mut remarks = String::new();
    if finding.before > 0 {
        let _ = write!(remarks, ", {} older ones were taken away", finding.before);
    }
    remarks.push_str(match (finding.signed, with_keys) {
        (0, _) if finding.checked > 0 => ", unsigned",
        (_, true) => "",
        (signed, false) if signed < finding.checked => ", some signed, signatures not checked without --key",
        (_, false) => ", signatures not checked without --key",
    });
    remarks
}

fn as_json(findings: &[Finding]) -> Value {
    let chains: Vec<_> = findings
        .iter()
        .map(|finding| {
            json!({
                "agent_id": finding.key.agent().map(|agent| hex(&agent)),
                "kind": if finding.key.is_lifecycle() { "lifecycle" } else { "records" },
                "taken_away": finding.before,
                "checked": finding.checked,
                "signed": finding.signed,
                "break": finding.broken.as_ref().map(|(position, id, why)| {
                    json!({"position": position, "audit_id": id, "reason": why})
                }),
            })
        })
        .collect();
    json!({"whole": findings.iter().all(|finding| finding.broken.is_none()), "chains": chains})
}
