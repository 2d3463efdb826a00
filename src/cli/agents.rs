//! `agtp agent`: identity documents and their Genesis, made and verified.

use super::output::{self, visible};
use super::{Failure, agent_cert, clock, signing};
use crate::catalog::{Catalog, is_method_name};
use crate::compiler::genesis::issue;
use crate::compiler::key::SigningKey;
use crate::compiler::{Report, check_genesis, read_agent};
use crate::identity::is_scope;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Commands of `agtp agent`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make an identity document and its signed Genesis
    New(New),
    /// Make a certificate by which an agent proves who it is
    Cert(agent_cert::Cert),
    /// Check that identity documents and Genesis belong together and are signed
    Verify(Verify),
}

/// Arguments of `agtp agent new`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes DIR/NAME.agent.json and DIR/NAME.genesis.json, and overwrites nothing. If the issuer's key is not there yet, it is
made; keep it: whoever has it can issue agents in your name.

Example:
  agtp agent new porter --scope booking:room,rooms:read
  agtp serve --deployment .
  agtp call FIND agtp://localhost/rooms --agent porter")]
pub(super) struct New {
    /// The agent's short name: letters, digits, \"-\" and \"_\"
    name: String,
    /// Scopes to grant, such as booking:room or booking:*
    #[arg(long, value_name = "A:B,C:D", value_delimiter = ',')]
    scope: Vec<String>,
    /// Methods the agent will use; may be repeated
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    method: Vec<String>,
    /// Who answers for the agent
    #[arg(long, default_value = "localhost")]
    owner: String,
    /// What the agent is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Where to write
    #[arg(long, default_value = "agents")]
    dir: PathBuf,
    /// The issuer's private key, PKCS#8 PEM; made if it is not there
    #[arg(long, value_name = "FILE", default_value = "issuer.pem")]
    key: PathBuf,
}

/// Arguments of `agtp agent verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code: 0 all verified, 1 one is not, 2 a file cannot be read.")]
pub(super) struct Verify {
    /// Identity documents (NAME.agent.json, with NAME.genesis.json beside it) or a Genesis by itself
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// For machines
    #[arg(long)]
    json: bool,
}

/// Runs `agtp agent`.
pub(super) fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::New(args) => new(&args, &clock::now()),
        Command::Cert(args) => agent_cert::run(&args),
        Command::Verify(args) => verify(&args),
    }
}

fn new(args: &New, now: &str) -> Result<ExitCode, Failure> {
    check_arguments(args)?;
    let file = |kind: &str| args.dir.join(format!("{}.{kind}.json", args.name));
    let (document_file, genesis_file) = (file("agent"), file("genesis"));
    if let Some(taken) = [&document_file, &genesis_file].into_iter().find(|file| file.exists()) {
        return Err(Failure(format!("{} is there already and is not overwritten", taken.display())));
    }
    std::fs::create_dir_all(&args.dir)
        .map_err(|error| Failure(format!("cannot make {}: {error}", args.dir.display())))?;
    let made = !args.key.exists();
    let issuer = if made { signing::new_private_key(&args.key) } else { signing::private_key(&args.key) }?;
    let genesis = genesis(args, &issuer, now);
    let document = document(args, &genesis, now);
    write(&genesis_file, &genesis.into())?;
    write(&document_file, &document)?;
    if made {
        output::complain(format_args!(
            "made the issuer's key {}: keep it, and keep it secret",
            args.key.display()
        ));
    }
    if args.scope.is_empty() {
        output::complain(format_args!("no scopes are granted: --scope says which"));
    }
    let (document, genesis) = (document_file.display(), genesis_file.display());
    output::print(format!("{document}\n{genesis}\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn check_arguments(args: &New) -> Result<(), Failure> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if args.name.is_empty() || !args.name.chars().all(plain) {
        return Err(Failure(format!("{:?} is no name; use letters, digits, \"-\" and \"_\"", args.name)));
    }
    if let Some(scope) = args.scope.iter().find(|scope| !is_scope(scope)) {
        return Err(Failure(format!("{scope:?} is no scope; write domain:action, such as booking:room")));
    }
    if let Some(method) = args.method.iter().find(|method| !is_method_name(method)) {
        return Err(Failure(format!("{method:?} is no method name; it is 3 to 32 letters A to Z")));
    }
    let owner = &args.owner;
    if owner.trim() != owner || owner.is_empty() || !owner.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err(Failure("the owner is sent in a header; use printable ASCII".to_owned()));
    }
    let catalog = Catalog::builtin();
    for method in args.method.iter().filter(|method| catalog.verb(method).is_none()) {
        output::complain(format_args!("{method} is not in the catalog, so it has to be a custom method"));
    }
    Ok(())
}

/// What its issuer vouches for. Nobody but the issuer does, which is what tier 2 and `org-asserted` say.
fn genesis(args: &New, issuer: &SigningKey, now: &str) -> Map<String, Value> {
    let claims = json!({
        "owner_id": args.owner,
        "archetype": "assistant",
        "governance_zone": format!("zone:{}", args.owner),
        "scope": args.scope,
        "issued_at": now,
        "trust_tier": 2,
        "verification_path": "org-asserted",
        // Two agents that are alike in everything else are still two.
        "name": args.name,
    });
    match claims {
        Value::Object(claims) => issue(claims, issuer),
        _ => Map::new(),
    }
}

fn document(args: &New, genesis: &Map<String, Value>, now: &str) -> Value {
    let description = args.description.clone().unwrap_or_else(|| format!("The agent {}.", args.name));
    json!({
        "agent_id": genesis.get("agent_id"),
        "name": args.name,
        "description": description,
        "principal": args.owner,
        "principal_id": args.owner,
        "status": "active",
        "skills": args.description.iter().collect::<Vec<_>>(),
        "requires": {"methods": args.method, "scopes": args.scope, "wildcards": false},
        "scopes_accepted": [],
        "issuer": args.owner,
        "issued_at": now,
        "trust_warning": "verification-incomplete",
    })
}

fn write(file: &Path, document: &Value) -> Result<(), Failure> {
    signing::create(file, format!("{document:#}\n").as_bytes(), 0o644)
}

/// What became of one file.
struct Verdict {
    file: String,
    agent_id: Option<String>,
    name: Option<String>,
    report: Report,
    /// Why nothing vouches for the agent although nothing is wrong with its document.
    unproven: bool,
}

impl Verdict {
    fn verified(&self) -> bool {
        self.report.errors() == 0 && !self.unproven
    }

    fn to_json(&self) -> Value {
        json!({
            "file": self.file,
            "verified": self.verified(),
            "agent_id": self.agent_id,
            "name": self.name,
            "genesis": !self.unproven,
            "faults": self.report.to_json()["faults"],
        })
    }

    fn to_text(&self) -> String {
        let id = self.agent_id.as_deref().unwrap_or("?");
        match (self.verified(), self.unproven && self.report.errors() == 0) {
            (true, _) => format!("{}: verified: hash and signature are sound, agent_id {id}", self.file),
            (_, true) => format!("{}: not verified: no Genesis beside it proves agent_id {id}", self.file),
            _ => {
                let faults: Vec<_> = self.report.faults.iter().map(ToString::to_string).collect();
                format!("{}: not verified\n{}", self.file, faults.join("\n"))
            }
        }
    }
}

fn verify(args: &Verify) -> Result<ExitCode, Failure> {
    let verdicts = args.files.iter().map(|file| verdict(file)).collect::<Result<Vec<_>, _>>()?;
    let verified = verdicts.iter().all(Verdict::verified);
    let text = match args.json {
        true => {
            let agents: Vec<_> = verdicts.iter().map(Verdict::to_json).collect();
            json!({"agents": agents, "verified": verified}).to_string()
        }
        false => visible(&verdicts.iter().map(Verdict::to_text).collect::<Vec<_>>().join("\n")),
    };
    output::print(format!("{text}\n").as_bytes())?;
    Ok(ExitCode::from(u8::from(!verified)))
}

fn verdict(path: &Path) -> Result<Verdict, Failure> {
    let file = path.display().to_string();
    let text = read(path)?;
    if file.ends_with(".genesis.json") {
        let (agent_id, report) = check_genesis(&file, &text);
        return Ok(Verdict { file, agent_id, name: None, report, unproven: false });
    }
    let stem = file.strip_suffix(".agent.json").or_else(|| file.strip_suffix(".json")).unwrap_or(&file);
    let genesis_file = format!("{stem}.genesis.json");
    let genesis = match Path::new(&genesis_file).exists() {
        true => Some(read(Path::new(&genesis_file))?),
        false => None,
    };
    let pair = genesis.as_deref().map(|text| (genesis_file.as_str(), text));
    let (agent, report) = read_agent((&file, &text), pair);
    let (agent_id, name) = agent.map(|agent| (agent.agent_id, agent.name)).unzip();
    Ok(Verdict { file, agent_id, name, report, unproven: pair.is_none() })
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::fs;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: Command,
    }

    /// A directory that is removed afterwards.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let dir = std::env::temp_dir().join(format!("agtp-agents-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        /// Runs `agtp agent new` in here.
        fn new_agent(&self, line: &[&str]) -> Result<(), String> {
            let (dir, key) = (self.path("agents"), self.path("issuer.pem"));
            let place = ["--dir", dir.to_str().unwrap(), "--key", key.to_str().unwrap()];
            let line = ["agent", "new"].iter().chain(line).chain(&place);
            let Command::New(args) = Line::try_parse_from(line).unwrap().command else { unreachable!() };
            new(&args, "2026-01-05T09:00:00Z").map(|_| ()).map_err(|Failure(message)| message)
        }

        fn edit(&self, name: &str, from: &str, to: &str) {
            let text = fs::read_to_string(self.path(name)).unwrap();
            assert!(text.contains(from), "{text}");
            fs::write(self.path(name), text.replacen(from, to, 1)).unwrap();
        }

        fn codes(&self, name: &str) -> Vec<&'static str> {
            verdict(&self.path(name)).unwrap().report.faults.iter().map(|fault| fault.code).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn one_command_makes_a_working_caller() {
        let scratch = Scratch::new("new");
        scratch.new_agent(&["porter", "--scope", "booking:*,rooms:read", "--method", "BOOK"]).unwrap();
        scratch.new_agent(&["maid", "--owner", "acme.example"]).unwrap();
        for name in ["agents/porter.agent.json", "agents/porter.genesis.json", "agents/maid.agent.json"] {
            let verdict = verdict(&scratch.path(name)).unwrap();
            assert!(verdict.verified(), "{}", verdict.to_text());
        }
        // It is loaded like any other, and signs with the same issuer's key.
        let reading = crate::compiler::read(&scratch.0, &crate::compiler::ReadOptions::default());
        assert_eq!(reading.report.errors(), 0, "{}", reading.report);
        let agents = reading.deployment.unwrap().agents;
        let porter = agents.iter().find(|agent| agent.name == "porter").unwrap();
        assert_eq!(
            (&porter.grants[..], &porter.methods[..]),
            (&["booking:*".to_owned(), "rooms:read".to_owned()][..], &["BOOK".to_owned()][..])
        );
        assert_eq!(
            (porter.trust_tier, porter.trust_warning.as_deref()),
            (2, Some("verification-incomplete"))
        );
        let caller =
            super::super::agent::load(scratch.path("agents/porter.agent.json").to_str().unwrap()).unwrap();
        assert_eq!((caller.agent_id, caller.scopes.len()), (porter.agent_id.clone(), 2));
    }

    #[test]
    fn nothing_is_overwritten_and_nonsense_is_refused() {
        let scratch = Scratch::new("refused");
        scratch.new_agent(&["porter"]).unwrap();
        let key = fs::read(scratch.path("issuer.pem")).unwrap();
        for (line, part) in [
            (&["porter"][..], "not overwritten"),
            (&["../porter"], "no name"),
            (&[""], "no name"),
            (&["a", "--scope", "booking"], "domain:action"),
            (&["a", "--method", "book"], "no method name"),
            (&["a", "--owner", "é"], "printable ASCII"),
        ] {
            let message = scratch.new_agent(line).unwrap_err();
            assert!(message.contains(part) && !message.contains('\n'), "{message}");
        }
        assert_eq!(fs::read_dir(scratch.path("agents")).unwrap().count(), 2);
        assert_eq!(fs::read(scratch.path("issuer.pem")).unwrap(), key);
        fs::write(scratch.path("issuer.pem"), "no key").unwrap();
        assert!(scratch.new_agent(&["b"]).unwrap_err().contains("no Ed25519 private key"));
    }

    #[test]
    fn what_was_tampered_with_is_not_verified() {
        let scratch = Scratch::new("tampered");
        for name in ["hash", "key", "signature", "alone"] {
            scratch.new_agent(&[name]).unwrap();
        }
        scratch.edit("agents/hash.genesis.json", "localhost", "elsewhere");
        let both = ["genesis-mismatch", "genesis-signature"];
        assert_eq!(scratch.codes("agents/hash.agent.json"), both);
        assert_eq!(scratch.codes("agents/hash.genesis.json"), both);
        let other = SigningKey::from_seed(&[9; 32]);
        let text = fs::read_to_string(scratch.path("agents/key.genesis.json")).unwrap();
        let genesis: Map<String, Value> = serde_json::from_str(&text).unwrap();
        // Sound in itself, but issued by another: another agent.
        let foreign = Value::Object(issue(genesis.clone(), &other));
        fs::write(scratch.path("agents/key.genesis.json"), foreign.to_string()).unwrap();
        assert_eq!(scratch.codes("agents/key.genesis.json"), [""; 0]);
        assert_eq!(scratch.codes("agents/key.agent.json"), ["genesis-mismatch", "genesis-mismatch"]);
        let signature = genesis["signature"].as_str().unwrap();
        let signed = fs::read_to_string(scratch.path("agents/signature.genesis.json")).unwrap();
        let own: Value = serde_json::from_str(&signed).unwrap();
        scratch.edit("agents/signature.genesis.json", own["signature"].as_str().unwrap(), signature);
        assert_eq!(scratch.codes("agents/signature.agent.json"), ["genesis-signature"]);
        fs::remove_file(scratch.path("agents/alone.genesis.json")).unwrap();
        let alone = verdict(&scratch.path("agents/alone.agent.json")).unwrap();
        assert!(!alone.verified() && alone.to_text().contains("no Genesis beside it"));
        assert_eq!(alone.to_json()["verified"], false);
        assert!(verdict(&scratch.path("agents/nobody.agent.json")).is_err());
    }

    #[test]
    fn the_sample_s_agents_are_verified() {
        for name in ["concierge", "former", "guest"] {
            let path = format!("{}/agents/{name}.agent.json", env!("CARGO_MANIFEST_DIR"));
            let verdict = verdict(Path::new(&path)).unwrap();
            assert!(verdict.verified(), "{}", verdict.to_text());
        }
    }
}
