//! `[audit]` of `agtp-server.toml`, and `agtp audit`.

mod remote;
mod verify;

use super::deployment::Deployed;
use super::{Failure, output, signing};
use crate::audit::{
    Access, Durability, Ed25519, LedgerOptions, LifecycleAuth, Memory, OnFailure, Retention, Sign, Sink,
    Store, StoreOptions,
};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use toml::{Table, Value};

const DAY_MS: u64 = 86_400_000;

/// `agtp audit`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Prove every agent's chain of records: names, links, signatures
    Verify(verify::Args),
}

/// Runs `agtp audit`.
pub(super) fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Verify(args) => verify::run(args),
    }
}

/// How a server attributes its answers.
pub(super) struct Auditing {
    /// Taken by the engine.
    pub(super) options: Option<LedgerOptions>,
    /// The store, to be closed when the server has ended.
    store: Option<Arc<Store>>,
}

impl Auditing {
    /// By the settings of a deployment. `development` says that the server is on loopback and in plaintext.
    pub(super) fn of(deployed: &Deployed, development: bool) -> Result<Auditing, Failure> {
        let settings: Table = deployed.settings.parse().unwrap_or_default();
        let empty = Table::new();
        let audit = settings.get("audit").and_then(Value::as_table).unwrap_or(&empty);
        let store = text(audit, "dir").map(|dir| open(&deployed.base.join(dir), audit)).transpose()?;
        let store = store.map(Arc::new);
        let sink: Arc<dyn Sink> = match &store {
            Some(store) => Arc::clone(store) as Arc<dyn Sink>,
            None => Arc::new(Memory::new()),
        };
        let options = LedgerOptions {
            attribution: text(audit, "attribution") != Some("off"),
            sink,
            signer: signer(&deployed.settings, &deployed.base)?,
            read_acl: read_acl(audit),
            lifecycle_auth: lifecycle_auth(audit, development, &deployed.settings_origin)?,
            on_failure: on_failure(audit),
        };
        Ok(Auditing { options: Some(options), store })
    }

    /// Whether records and lifecycles outlive the process.
    pub(super) fn keeps_records(&self) -> bool {
        self.store.is_some()
    }

    /// Writes what is still to be written: the server has ended.
    pub(super) fn close(&self) {
        if let Some(store) = &self.store {
            store.close();
        }
    }
}

fn text<'t>(table: &'t Table, key: &str) -> Option<&'t str> {
    table.get(key).and_then(Value::as_str)
}

fn open(dir: &Path, audit: &Table) -> Result<Store, Failure> {
    let options = StoreOptions { durability: durability(audit), retention: retention(audit), log: log_line };
    Store::open(dir, options)
        .map_err(|error| Failure(format!("audit.dir {} cannot be used: {error}", dir.display())))
}

fn log_line(line: &str) {
    output::complain(format_args!("{}", output::visible(line)));
}

fn durability(audit: &Table) -> Durability {
    match text(audit, "durability") {
        Some("always") => Durability::Always,
        Some("os") => Durability::Os,
        _ => Durability::Interval,
    }
}

fn retention(audit: &Table) -> Retention {
    let number = |key: &str| audit.get(key).and_then(Value::as_integer).and_then(|n| u64::try_from(n).ok());
    Retention {
        max_age_ms: number("retention_days").map(|days| days.saturating_mul(DAY_MS)),
        max_bytes: number("retention_bytes"),
    }
}

fn on_failure(audit: &Table) -> OnFailure {
    match text(audit, "on_failure") {
        Some("serve") => OnFailure::Serve,
        _ => OnFailure::Refuse,
    }
}

fn read_acl(audit: &Table) -> Access {
    match text(audit, "read_acl") {
        Some("agent_only") => Access::AgentOnly,
        Some("operator_only") => Access::OperatorOnly,
        _ => Access::Public,
    }
}

/// D31. What anybody may do to agents is for development.
fn lifecycle_auth(audit: &Table, development: bool, origin: &str) -> Result<LifecycleAuth, Failure> {
    match (text(audit, "lifecycle_auth"), development) {
        (Some("open"), false) => Err(Failure(format!(
            "{origin}: audit.lifecycle_auth = \"open\" lets every agent revoke any other, and is for plaintext on \
             loopback (--insecure) only; write \"genesis_issuer\""
        ))),
        (Some("genesis_issuer"), _) | (None, false) => Ok(LifecycleAuth::GenesisIssuer),
        _ => Ok(LifecycleAuth::Open),
    }
}

fn signer(settings: &str, base: &Path) -> Result<Option<Arc<dyn Sign>>, Failure> {
    let Some((file, key_id)) = signing::key_file(settings, base) else { return Ok(None) };
    let pem = std::fs::read_to_string(&file).map_err(|error| Failure::file(&file, &error))?;
    let key = Ed25519::from_pem(&pem, key_id.as_deref());
    let key = key.map_err(|error| Failure(format!("signing.key: {} holds {error}", file.display())))?;
    Ok(Some(Arc::new(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn settings_are_what_they_say_and_the_defaults_are_documented() {
        let none = table("");
        assert_eq!((durability(&none), on_failure(&none)), (Durability::Interval, OnFailure::Refuse));
        assert_eq!((read_acl(&none), retention(&none)), (Access::Public, Retention::default()));
        let all = table(
            "durability = \"always\"\non_failure = \"serve\"\nread_acl = \"agent_only\"\nretention_days = 2\n\
             retention_bytes = 1000",
        );
        assert_eq!((durability(&all), on_failure(&all)), (Durability::Always, OnFailure::Serve));
        assert_eq!(read_acl(&all), Access::AgentOnly);
        assert_eq!(retention(&all), Retention { max_age_ms: Some(2 * DAY_MS), max_bytes: Some(1000) });
    }

    #[test]
    fn open_lifecycles_are_for_development() {
        let auth = |text: &str, development| lifecycle_auth(&table(text), development, "f").ok();
        assert_eq!(auth("", true), Some(LifecycleAuth::Open));
        assert_eq!(auth("", false), Some(LifecycleAuth::GenesisIssuer));
        assert_eq!(auth("lifecycle_auth = \"open\"", true), Some(LifecycleAuth::Open));
        assert_eq!(auth("lifecycle_auth = \"open\"", false), None);
        assert_eq!(auth("lifecycle_auth = \"genesis_issuer\"", true), Some(LifecycleAuth::GenesisIssuer));
    }
}
