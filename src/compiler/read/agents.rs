//! Identity documents and their Genesis (facts page 7).

use super::document::Faults;
use super::is_header_safe;
use crate::catalog::json::{Kind, Node};
use crate::compiler::canonical;
use crate::compiler::fault::Rule;
use crate::compiler::ir::{AgentDecl, Source};
use crate::compiler::rules;
use crate::identity::{Status, is_scope, parse_agent_id};
use crate::{catalog::is_method_name, compiler::suggest};
use sha2::{Digest, Sha256};

const VERIFICATION_PATHS: [&str; 4] = ["dns-anchored", "log-anchored", "hybrid", "org-asserted"];

/// Characters of a `skills_summary`.
const SUMMARY_LENGTH: usize = 200;

/// A JSON file and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'f> {
    pub(super) name: &'f str,
    pub(super) text: &'f str,
}

/// Reads one agent; nothing if there is anything wrong with it (D31).
pub(super) fn read(document: File<'_>, genesis: Option<File<'_>>, faults: &Faults) -> Option<AgentDecl> {
    let errors_before = faults.errors();
    let identity = Reader::parse(document, faults);
    let genesis_reader = genesis.map(|file| Reader::parse(file, faults));
    let identity = identity?;
    let agent_id = identity.require("agent_id").and_then(|node| identity.agent_id(node));
    let genesis = genesis_reader.flatten();
    let genesis = genesis.as_ref().map(|reader| Genesis::new(reader, agent_id.as_deref()));
    let agent = agent(&identity, agent_id, genesis.as_ref());
    if faults.errors() > errors_before { None } else { agent }
}

fn agent(
    identity: &Reader<'_>,
    agent_id: Option<String>,
    genesis: Option<&Genesis<'_>>,
) -> Option<AgentDecl> {
    let name = identity.require("name").and_then(|node| identity.filled_string(node, "name"));
    let requires = identity.object("requires");
    let scopes = requires.as_ref().and_then(|requires| requires.scopes("scopes"));
    let methods = requires.as_ref().and_then(Reader::methods).unwrap_or_default();
    requires.iter().for_each(|requires| requires.boolean("wildcards"));
    identity.scopes("scopes_accepted");
    let skills = identity.strings("skills").unwrap_or_default();
    let status = identity.status();
    let posture = Posture::resolve(identity, genesis);
    Some(AgentDecl {
        source: Source { file: identity.file.to_owned(), line: identity.node.line },
        agent_id: agent_id?,
        name: name?,
        status,
        skills_summary: skills.join("; ").chars().take(SUMMARY_LENGTH).collect(),
        grants: scopes.or_else(|| genesis?.reader.scopes("scope")).unwrap_or_default(),
        methods,
        trust_tier: posture.trust_tier,
        verification_path: posture.verification_path,
        trust_warning: posture.trust_warning,
        owner_id: posture.owner_id,
        genesis: genesis.map(|genesis| canonical::of_node(&genesis.reader.node)),
    })
}

/// What a server says about an agent: an explicit value in the identity document, else the Genesis value, else the
/// default (facts page 7).
struct Posture {
    trust_tier: u8,
    verification_path: String,
    trust_warning: Option<String>,
    owner_id: Option<String>,
}

impl Posture {
    fn resolve(identity: &Reader<'_>, genesis: Option<&Genesis<'_>>) -> Posture {
        let genesis = genesis.map(|genesis| &genesis.reader);
        let in_genesis = |key| genesis.and_then(|genesis| genesis.header_value(key));
        let trust_tier = identity.tier().or_else(|| genesis?.tier()).unwrap_or(2);
        let path = identity.verification_path().or_else(|| genesis?.verification_path());
        let owner = identity.header_value("owner_id").or_else(|| in_genesis("owner_id"));
        Posture {
            trust_tier,
            verification_path: path.unwrap_or_else(|| "org-asserted".to_owned()),
            trust_warning: Posture::warning(identity, in_genesis("trust_warning"), trust_tier),
            owner_id: owner.or_else(|| in_genesis("owner")),
        }
    }

    /// An explicit `null` is the operator's decision that there is none.
    fn warning(identity: &Reader<'_>, in_genesis: Option<String>, tier: u8) -> Option<String> {
        let explicit = identity.node.get("trust_warning");
        if explicit.is_some_and(|node| node.kind == Kind::Null) {
            return None;
        }
        let incomplete = (tier == 2).then(|| "verification-incomplete".to_owned());
        identity.header_value("trust_warning").or(in_genesis).or(incomplete)
    }
}

/// A Genesis whose digest was compared with the agent's id. Its signature covers the same bytes.
struct Genesis<'g> {
    reader: &'g Reader<'g>,
}

impl<'g> Genesis<'g> {
    fn new(reader: &'g Reader<'g>, agent_id: Option<&str>) -> Genesis<'g> {
        let genesis = Genesis { reader };
        if let Some(agent_id) = agent_id {
            genesis.check_digest(agent_id);
        }
        genesis
    }

    /// The bytes that the id is the digest of: all but `signature` and, since it cannot contain its own hash,
    /// `agent_id`.
    fn signed_bytes(&self) -> String {
        let members = self.reader.node.members().unwrap_or(&[]).iter();
        let signed = members.filter(|member| !matches!(member.key.as_str(), "signature" | "agent_id"));
        canonical::of_node(&Node { line: 1, kind: Kind::Object(signed.cloned().collect()) })
    }

    fn check_digest(&self, agent_id: &str) {
        let own = self.reader.node.get("agent_id");
        if let Some(own) = own.filter(|own| own.as_str() != Some(agent_id)) {
            let message = "the Genesis names another agent_id than the identity document";
            self.reader.fault(
                own.line,
                &rules::GENESIS_MISMATCH,
                message,
                format!("it should be {agent_id}"),
            );
        }
        let digest = hex(&Sha256::digest(self.signed_bytes()));
        if digest != agent_id {
            let message = format!("the Genesis hashes to {digest}, not to the agent_id");
            let help = "pair the identity document with the Genesis its agent_id was made of, unaltered";
            self.reader.fault(1, &rules::GENESIS_MISMATCH, message, help);
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An object of a JSON file and readers for what it may hold. Unknown keys are kept and ignored.
struct Reader<'f> {
    file: &'f str,
    node: Node,
    faults: &'f Faults,
}

impl<'f> Reader<'f> {
    fn parse(file: File<'f>, faults: &'f Faults) -> Option<Reader<'f>> {
        let fault = |line, rule: &Rule, message: String, help: &str| {
            faults.add(rule, Source { file: file.name.to_owned(), line }, message, help);
        };
        let node = match Node::parse(file.text) {
            Ok(node) => node,
            Err(error) => {
                fault(error.line, &rules::JSON_SYNTAX, error.message, "write one JSON object");
                return None;
            }
        };
        if node.members().is_none() {
            let message = format!("the document is {}", node.type_name());
            fault(node.line, &rules::WRONG_TYPE, message, "write one JSON object");
            return None;
        }
        for duplicate in node.duplicate_keys() {
            let message = format!(
                "key \"{}\" stands twice in one object, first on line {}",
                duplicate.key, duplicate.first_line
            );
            fault(duplicate.line, &rules::DUPLICATE_KEY, message, "keep one of them");
        }
        Some(Reader { file: file.name, node, faults })
    }

    fn fault(&self, line: u32, rule: &Rule, message: impl Into<String>, help: impl Into<String>) {
        self.faults.add(rule, Source { file: self.file.to_owned(), line }, message, help);
    }

    /// The value of a key; `null` is as good as absent.
    fn get(&self, key: &str) -> Option<&Node> {
        self.node.get(key).filter(|node| node.kind != Kind::Null)
    }

    fn require(&self, key: &str) -> Option<&Node> {
        let node = self.get(key);
        if node.is_none() {
            let message = format!("\"{key}\" is missing");
            self.fault(self.node.line, &rules::MISSING_FIELD, message, format!("add \"{key}\""));
        }
        node
    }

    fn wrong_type(&self, node: &Node, key: &str, expected: &str) {
        let message = format!("\"{key}\" is {}", node.type_name());
        self.fault(node.line, &rules::WRONG_TYPE, message, format!("write {expected}"));
    }

    fn string<'n>(&self, node: &'n Node, key: &str) -> Option<&'n str> {
        let text = node.as_str();
        if text.is_none() {
            self.wrong_type(node, key, "a string");
        }
        text
    }

    fn filled_string(&self, node: &Node, key: &str) -> Option<String> {
        let text = self.string(node, key)?;
        if text.trim().is_empty() {
            self.fault(node.line, &rules::EMPTY_FIELD, format!("\"{key}\" is empty"), "say something");
        }
        Some(text.to_owned())
    }

    fn agent_id(&self, node: &Node) -> Option<String> {
        let id = self.string(node, "agent_id")?;
        if parse_agent_id(id.as_bytes()).is_none() {
            let message = format!("agent_id \"{id}\" is malformed");
            let help = "it is the SHA-256 of the Genesis: 64 lowercase hexadecimal digits";
            self.fault(node.line, &rules::AGENT_ID_FORM, message, help);
            return None;
        }
        Some(id.to_owned())
    }

    fn object(&self, key: &str) -> Option<Reader<'f>> {
        let node = self.get(key)?;
        if node.members().is_none() {
            self.wrong_type(node, key, "an object");
            return None;
        }
        Some(Reader { file: self.file, node: node.clone(), faults: self.faults })
    }

    fn boolean(&self, key: &str) {
        if let Some(node) = self.get(key).filter(|node| !matches!(node.kind, Kind::Bool(_))) {
            self.wrong_type(node, key, "true or false");
        }
    }

    /// The strings of an array, with their lines.
    fn string_nodes(&self, key: &str) -> Option<Vec<(u32, String)>> {
        let node = self.get(key)?;
        let Some(items) = node.items() else {
            self.wrong_type(node, key, "an array of strings");
            return None;
        };
        let strings = items.iter().filter_map(|item| Some((item.line, self.string(item, key)?.to_owned())));
        Some(strings.collect())
    }

    fn strings(&self, key: &str) -> Option<Vec<String>> {
        Some(self.string_nodes(key)?.into_iter().map(|(_, text)| text).collect())
    }

    fn scopes(&self, key: &str) -> Option<Vec<String>> {
        let scopes = self.string_nodes(key)?;
        for (line, scope) in scopes.iter().filter(|(_, scope)| !is_scope(scope)) {
            let message = format!("scope \"{scope}\" is malformed");
            self.fault(*line, &rules::SCOPE_FORM, message, "write domain:action, as in booking:room");
        }
        Some(scopes.into_iter().map(|(_, scope)| scope).collect())
    }

    /// `requires.methods`.
    fn methods(&self) -> Option<Vec<String>> {
        let methods = self.string_nodes("methods")?;
        for (line, method) in methods.iter().filter(|(_, method)| !is_method_name(method)) {
            let message = format!("\"{method}\" is no method name");
            let help = "a method name is 3 to 32 letters A to Z, nothing else";
            self.fault(*line, &rules::METHOD_FORM, message, help);
        }
        Some(methods.into_iter().map(|(_, method)| method).collect())
    }

    fn one_of(&self, key: &str, words: &[&'static str]) -> Option<&'static str> {
        let node = self.get(key)?;
        let text = self.string(node, key)?;
        let word = words.iter().find(|word| **word == text).copied();
        if word.is_none() {
            let help = suggest::did_you_mean(text, words);
            self.fault(node.line, &rules::AGENT_VALUE, format!("\"{key}\" is \"{text}\""), help);
        }
        word
    }

    fn status(&self) -> Status {
        match self.one_of("status", &["active", "suspended", "retired", "deprecated"]) {
            Some("suspended") => Status::Suspended,
            Some("retired") => Status::Retired,
            Some("deprecated") => Status::Deprecated,
            _ => Status::Active,
        }
    }

    fn tier(&self) -> Option<u8> {
        let node = self.get("trust_tier")?;
        match &node.kind {
            Kind::Number(text) if matches!(text.as_str(), "1" | "2" | "3") => text.parse().ok(),
            _ => {
                let help = "write 1, 2 or 3";
                self.fault(node.line, &rules::AGENT_VALUE, "\"trust_tier\" is no trust tier", help);
                None
            }
        }
    }

    fn verification_path(&self) -> Option<String> {
        self.one_of("verification_path", &VERIFICATION_PATHS).map(str::to_owned)
    }

    /// A string that rides in a response header.
    fn header_value(&self, key: &str) -> Option<String> {
        let node = self.get(key)?;
        let text = self.string(node, key)?;
        if !is_header_safe(text) {
            let message = format!("\"{key}\" cannot be sent in a header");
            let help = "use printable ASCII without spaces at the ends";
            self.fault(node.line, &rules::NOT_HEADER_SAFE, message, help);
            return None;
        }
        Some(text.to_owned())
    }
}
