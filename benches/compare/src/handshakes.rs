//! Full TLS handshakes in memory: what rustls alone takes for them.

use crate::Failure;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Microseconds that the server's side of a full handshake takes, mean of `count`.
pub fn server_side_us(count: u32) -> Result<f64, Failure> {
    let (client, server) = configurations()?;
    let mut spent = Duration::ZERO;
    for _ in 0..count {
        spent += handshake(&client, &server)?;
    }
    Ok(spent.as_secs_f64() * 1e6 / f64::from(count))
}

fn configurations() -> Result<(Arc<ClientConfig>, Arc<ServerConfig>), Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let certificate = made.cert.der().clone();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    let client =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&[&TLS13])?;
    let mut client = client.with_root_certificates(roots).with_no_client_auth();
    client.resumption = rustls::client::Resumption::disabled();
    let server = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13])?;
    let server = server.with_no_client_auth().with_single_cert(vec![certificate], key)?;
    Ok((Arc::new(client), Arc::new(server)))
}

/// The time that the server's side took.
fn handshake(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Result<Duration, Failure> {
    let mut client = ClientConnection::new(Arc::clone(client), ServerName::try_from("localhost")?)?;
    let begun = Instant::now();
    let mut server = ServerConnection::new(Arc::clone(server))?;
    let mut spent = begun.elapsed();
    let (mut up, mut down) = (Vec::new(), Vec::new());
    while client.is_handshaking() || server.is_handshaking() {
        while client.wants_write() {
            client.write_tls(&mut up)?;
        }
        let begun = Instant::now();
        feed(&up, |bytes| server.read_tls(bytes))?;
        server.process_new_packets()?;
        while server.wants_write() {
            server.write_tls(&mut down)?;
        }
        spent += begun.elapsed();
        feed(&down, |bytes| client.read_tls(bytes))?;
        client.process_new_packets()?;
        up.clear();
        down.clear();
    }
    Ok(spent)
}

fn feed(
    mut bytes: &[u8],
    mut read: impl FnMut(&mut dyn std::io::Read) -> std::io::Result<usize>,
) -> Result<(), Failure> {
    while !bytes.is_empty() {
        read(&mut bytes)?;
    }
    Ok(())
}
