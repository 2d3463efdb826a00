//! Certificates on both sides: whom a server lets in, whom it takes a client for, and what it shows by name (D31).

use super::common::{Folder, answers, echo_endpoint, engine_of};
use super::rig::{PATIENCE, plaintext_configs};
use agtp::engine::{Engine, Function};
use agtp::handler::{Context, EndpointError, OwnedContext, OwnedReply, Reply};
use agtp::json::ObjectWriter;
use agtp::server::{
    Authorities, Certificates, ClientCertificates, Credential, Encryption, Running, ServerConfig, start,
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PKCS_ED25519, PublicKeyData, SanType,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

/// The agent named in certificates, and another one.
const NAMED: &str = "7a0000000000000000000000000000000000000000000000000000000000000a";
const OTHER: &str = "7b0000000000000000000000000000000000000000000000000000000000000b";

/// The key that an agent's id is the hash of.
static HASHED_KEY: LazyLock<KeyPair> = LazyLock::new(|| KeyPair::generate_for(&PKCS_ED25519).unwrap());

fn hashed() -> String {
    Sha256::digest(HASHED_KEY.der_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn tell(ctx: &Context<'_>, o: &mut ObjectWriter<'_>) {
    let first = |bytes: Option<&[u8; 32]>| bytes.map_or(0, |bytes| bytes[0].into());
    o.u64("verified", first(ctx.verified_agent()));
    o.bool("certificate", ctx.peer().is_some());
}

fn who(ctx: &Context<'_>, reply: &mut Reply<'_>) -> Result<(), EndpointError> {
    reply.object(|o| tell(ctx, o));
    Ok(())
}

async fn who_later(ctx: OwnedContext) -> Result<OwnedReply, EndpointError> {
    std::future::ready(()).await;
    Ok(OwnedReply::object(|o| tell(&ctx.context(), o)))
}

/// `FETCH /who` and `/later` say whom they see.
fn engine() -> &'static Engine<'static> {
    static ENGINE: LazyLock<Engine<'static>> = LazyLock::new(|| {
        let bound = |name: &str| {
            let text = echo_endpoint("FETCH", &format!("/{name}"), "", r#""text":{"type":"string"}"#);
            text.replace("\"echo\"", &format!("\"test::{name}\""))
        };
        let agent = |id: &str, name: &str| {
            json!({"agent_id": id, "name": name, "description": "Tests.", "principal": "Tests", "principal_id": "t",
                "status": "active", "skills": [], "scopes_accepted": [], "issuer": "tests.example",
                "requires": {"methods": ["FETCH"], "scopes": ["test:run"], "wildcards": false},
                "issued_at": "2026-01-01T00:00:00Z"})
            .to_string()
        };
        let settings =
            "[server]\nserver_id = \"t.example\"\n[policies]\nscope_required_for_invocation = false\n";
        let folder = Folder::with(&[
            ("agtp-server.toml", settings),
            ("agents/named.agent.json", &agent(NAMED, "named")),
            ("agents/other.agent.json", &agent(OTHER, "other")),
            ("agents/hashed.agent.json", &agent(&hashed(), "hashed")),
            ("endpoints/who.toml", &bound("who")),
            ("endpoints/later.toml", &bound("later")),
        ]);
        let functions = [Function::plain("test::who", who), Function::asynchronous("test::later", who_later)];
        engine_of(folder.path(), &functions)
    });
    &ENGINE
}

/// An authority that vouches for clients.
struct Authority {
    params: CertificateParams,
    key: KeyPair,
    pem: String,
}

impl Authority {
    fn new() -> Authority {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("authority {}", MADE.fetch_add(1, Ordering::Relaxed));
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { params, key, pem }
    }

    fn pem(&self) -> Authorities {
        Authorities::from_pem(self.pem.as_bytes()).unwrap()
    }

    /// A client's certificate, with the agents that it names.
    fn certify(&self, key: &KeyPair, agents: &[&str]) -> Identity {
        let mut params = CertificateParams::default();
        let uri = |agent: &&str| SanType::URI(format!("agtp://{agent}").try_into().unwrap());
        params.subject_alt_names = agents.iter().map(uri).collect();
        let made = params.signed_by(key, &Issuer::from_params(&self.params, &self.key)).unwrap();
        (made.der().clone(), key.serialize_pem())
    }

    /// One that names one agent, of a key of its own.
    fn named(&self, agent: &str) -> Identity {
        self.certify(&KeyPair::generate_for(&PKCS_ED25519).unwrap(), &[agent])
    }
}

/// A client's certificate and its key in PEM.
type Identity = (CertificateDer<'static>, String);

/// A server's certificate.
struct Shown {
    der: CertificateDer<'static>,
    credential: Credential,
}

impl Shown {
    fn new(name: &str) -> Shown {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let credential = Credential::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
        Shown { der: made.cert.der().clone(), credential }
    }
}

/// What a client connects with. Its configuration remembers tickets.
fn client(trusted: &[&Shown], identity: Option<Identity>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    trusted.iter().for_each(|shown| roots.add(shown.der.clone()).unwrap());
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]).unwrap();
    let builder = builder.with_root_certificates(roots);
    Arc::new(match identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        }
    })
}

struct Talk {
    stream: StreamOwned<ClientConnection, TcpStream>,
}

impl Talk {
    fn to(running: &Running, client: &Arc<ClientConfig>, name: &str) -> Talk {
        let socket = TcpStream::connect(running.addresses()[0]).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        Talk { stream: StreamOwned::new(ClientConnection::new(Arc::clone(client), name).unwrap(), socket) }
    }

    /// Sends one request as this agent and reads until its answer is whole, or says why there is none.
    fn ask(&mut self, place: &str, agent: Option<&str>) -> Result<(u16, Value), std::io::Error> {
        let agent = agent.map(|agent| format!("Agent-ID: {agent}\r\n")).unwrap_or_default();
        self.stream.write_all(format!("AGTP/1.0 FETCH {place}\r\n{agent}\r\n").as_bytes())?;
        self.stream.flush()?;
        let mut received = Vec::new();
        loop {
            let mut part = [0; 4096];
            let len = self.stream.read(&mut part)?;
            assert_ne!(len, 0, "an answer, not the end of the stream");
            received.extend_from_slice(&part[..len]);
            // Every answer has a body, and it is an object.
            if received.ends_with(b"}") {
                let answer = answers(&received).remove(0);
                return Ok((answer.status, answer.body));
            }
        }
    }
}

fn ask(running: &Running, client: &Arc<ClientConfig>, agent: Option<&str>) -> (u16, Value) {
    Talk::to(running, client, "localhost").ask("/who", agent).unwrap()
}

/// Why there is no connection. The server says so in an alert, which the client gets to see.
fn refusal(running: &Running, client: &Arc<ClientConfig>) -> String {
    Talk::to(running, client, "localhost").ask("/who", Some(NAMED)).unwrap_err().to_string()
}

/// Runs a test under each configuration against servers of its own.
fn on_each(clients: &ClientCertificates, shown: &Shown, test: impl Fn(&Running, &Certificates)) {
    for mut config in plaintext_configs() {
        let encryption = Encryption { clients: clients.clone(), ..Encryption::of(shown.credential.clone()) };
        run(&mut config, encryption, &test);
    }
}

fn run(config: &mut ServerConfig, encryption: Encryption, test: impl Fn(&Running, &Certificates)) {
    let certificates = Certificates::new(encryption).unwrap();
    config.tls = Some(certificates.clone());
    let running = start(engine(), config).unwrap();
    test(&running, &certificates);
    running.stop().unwrap();
}

#[test]
fn where_it_is_optional_none_will_do_and_a_wrong_one_will_not() {
    let (shown, authority) = (Shown::new("localhost"), Authority::new());
    let without = client(&[&shown], None);
    let with = client(&[&shown], Some(authority.named(NAMED)));
    let wrong = client(&[&shown], Some(Authority::new().named(NAMED)));
    on_each(&ClientCertificates::Optional(authority.pem()), &shown, |running, _| {
        let unproven = json!({"verified": 0, "certificate": false});
        assert_eq!(ask(running, &without, Some(NAMED)), (200, unproven.clone()));
        assert_eq!(ask(running, &without, Some(OTHER)), (200, unproven));
        assert_eq!(ask(running, &with, Some(NAMED)), (200, json!({"verified": 0x7a, "certificate": true})));
        assert_eq!(ask(running, &with, Some(OTHER)).0, 401);
        assert!(refusal(running, &wrong).contains("UnknownCA"), "{}", refusal(running, &wrong));
    });
    on_each(&ClientCertificates::Disabled, &shown, |running, _| {
        let unasked = json!({"verified": 0, "certificate": false});
        assert_eq!(ask(running, &wrong, Some(NAMED)), (200, unasked));
    });
}

#[test]
fn where_it_is_required_nobody_is_let_in_without() {
    let (shown, authority) = (Shown::new("localhost"), Authority::new());
    let without = client(&[&shown], None);
    let with = client(&[&shown], Some(authority.named(NAMED)));
    let wrong = client(&[&shown], Some(Authority::new().named(NAMED)));
    on_each(&ClientCertificates::Required(authority.pem()), &shown, |running, _| {
        let why = refusal(running, &without);
        assert!(why.contains("CertificateRequired"), "{why}");
        let why = refusal(running, &wrong);
        assert!(why.contains("UnknownCA"), "{why}");
        // Whoever was refused costs nobody else.
        assert_eq!(ask(running, &with, Some(NAMED)), (200, json!({"verified": 0x7a, "certificate": true})));
    });
}

#[test]
fn an_agent_is_held_to_its_certificate() {
    let (shown, authority) = (Shown::new("localhost"), Authority::new());
    let by_name = client(&[&shown], Some(authority.named(NAMED)));
    let by_key = client(&[&shown], Some(authority.certify(&HASHED_KEY, &[])));
    let by_both = client(&[&shown], Some(authority.certify(&HASHED_KEY, &[NAMED])));
    let of_two = client(&[&shown], Some(authority.certify(&HASHED_KEY, &[NAMED, OTHER])));
    let own = hashed();
    on_each(&ClientCertificates::Required(authority.pem()), &shown, |running, _| {
        for (client, agent, status) in [
            (&by_name, NAMED, 200),
            (&by_name, OTHER, 401),
            (&by_name, &own, 401),
            (&by_key, &own, 200),
            (&by_key, NAMED, 401),
            // The name goes before the key.
            (&by_both, NAMED, 200),
            (&by_both, &own, 401),
            (&of_two, NAMED, 401),
            (&of_two, OTHER, 401),
            (&of_two, &own, 401),
        ] {
            let (answered, body) = ask(running, client, Some(agent));
            assert_eq!(answered, status, "{agent} {body}");
            if status == 401 {
                let error = &body["error"];
                assert_eq!(error["code"], "agent-unauthenticated");
                assert_eq!(
                    (&error["reason"], &error["agent_id"]),
                    (&json!("certificate-mismatch"), &json!(agent))
                );
            }
        }
        // One connection, several requests: the refused one does not end it, and who waits is known when it goes on.
        let mut talk = Talk::to(running, &by_name, "localhost");
        assert_eq!(talk.ask("/who", Some(OTHER)).unwrap().0, 401);
        let seen = json!({"verified": 0x7a, "certificate": true});
        assert_eq!(talk.ask("/later", Some(NAMED)).unwrap(), (200, seen));
        assert_eq!(talk.ask("/who", None).unwrap().0, 262, "nobody is named, so nobody acts");
    });
}

#[test]
fn a_resumed_session_is_still_the_same_agent_s() {
    let (shown, authority) = (Shown::new("localhost"), Authority::new());
    on_each(&ClientCertificates::Required(authority.pem()), &shown, |running, certificates| {
        let client = client(&[&shown], Some(authority.named(NAMED)));
        let kind = |expected| {
            let mut talk = Talk::to(running, &client, "localhost");
            let seen = talk.ask("/who", Some(NAMED)).unwrap();
            assert_eq!(seen, (200, json!({"verified": 0x7a, "certificate": true})));
            assert_eq!(talk.ask("/who", Some(OTHER)).unwrap().0, 401);
            assert_eq!(talk.stream.conn.handshake_kind(), Some(expected));
        };
        kind(HandshakeKind::Full);
        kind(HandshakeKind::Resumed);
        // Nobody comes back with a ticket of before to a server that trusts others now.
        let clients = ClientCertificates::Required(Authority::new().pem());
        certificates.replace_all(Encryption { clients, ..Encryption::of(shown.credential.clone()) }).unwrap();
        let why = refusal(running, &client);
        assert!(why.contains("UnknownCA"), "{why}");
    });
}

#[test]
fn other_authorities_count_from_now_on_and_nobody_is_cut_off() {
    let (shown, old, new) = (Shown::new("localhost"), Authority::new(), Authority::new());
    let before = client(&[&shown], Some(old.named(NAMED)));
    let after = client(&[&shown], Some(new.named(OTHER)));
    on_each(&ClientCertificates::Required(old.pem()), &shown, |running, certificates| {
        let mut open = Talk::to(running, &before, "localhost");
        assert_eq!(open.ask("/who", Some(NAMED)).unwrap().0, 200);
        let clients = ClientCertificates::Required(new.pem());
        certificates.replace_all(Encryption { clients, ..Encryption::of(shown.credential.clone()) }).unwrap();
        assert_eq!(ask(running, &after, Some(OTHER)).0, 200);
        assert!(refusal(running, &before).contains("UnknownCA"));
        assert_eq!(open.ask("/who", Some(NAMED)).unwrap().0, 200, "it was let in");
        assert!(Authorities::from_pem(b"").is_err() && Authorities::from_pem(b"no PEM").is_err());
    });
}

#[test]
fn the_name_that_is_asked_for_is_shown() {
    let [default, a, below] = ["localhost", "a.example", "*.b.example"].map(Shown::new);
    let [new_a, new_default] = ["a.example", "localhost"].map(Shown::new);
    let encryption = |default: &Shown, a: &Shown| Encryption {
        default: default.credential.clone(),
        by_name: vec![
            ("a.example".to_owned(), a.credential.clone()),
            ("*.b.example".to_owned(), below.credential.clone()),
        ],
        clients: ClientCertificates::Disabled,
    };
    for mut config in plaintext_configs() {
        run(&mut config, encryption(&default, &a), |running, certificates| {
            let shows = |name: &str, expected: &Shown| {
                let client = client(&[expected], None);
                let mut talk = Talk::to(running, &client, name);
                assert_eq!(talk.ask("/who", Some(NAMED)).unwrap().0, 200, "{name}");
                let shown = talk.stream.conn.peer_certificates().unwrap();
                assert_eq!(shown, std::slice::from_ref(&expected.der), "{name}");
            };
            shows("localhost", &default);
            shows("a.example", &a);
            shows("x.b.example", &below);
            // An address is no name.
            let client = client(&[&default], None);
            let mut unnamed = Talk::to(running, &client, "127.0.0.1");
            assert!(unnamed.ask("/who", None).unwrap_err().to_string().contains("not valid for name"));

            certificates.replace_all(encryption(&new_default, &new_a)).unwrap();
            shows("localhost", &new_default);
            shows("a.example", &new_a);
            shows("x.b.example", &below);
            // What does not fit changes nothing.
            let error = certificates.replace_all(encryption(&default, &below)).unwrap_err().to_string();
            assert_eq!(error, "its certificate is not for a.example");
            shows("a.example", &new_a);
        });
    }
}

#[test]
fn who_is_refused_in_the_middle_of_a_request_gets_to_read_why() {
    let shown = Shown::new("localhost");
    on_each(&ClientCertificates::Disabled, &shown, |running, _| {
        let mut socket = TcpStream::connect(running.addresses()[0]).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        // More than the server reads before it knows that this is no TLS: closing on what is unread would be a reset.
        socket.write_all(&vec![b'A'; 1 << 20]).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut received = Vec::new();
        socket.read_to_end(&mut received).unwrap();
        assert_eq!(received.first_chunk(), Some(&[21, 3]), "an alert record");
    });
}
