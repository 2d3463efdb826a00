//! Signatures are checked by somebody else's code: Python's `cryptography`, where it is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Verifies what is on disk without a line of this project: every Genesis in `agents`, then the manifest.
const VERIFY: &str = r#"
import base64, hashlib, json, pathlib, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

root = pathlib.Path(sys.argv[1])
count = 0
for file in root.glob("agents/*.genesis.json"):
    genesis = json.loads(file.read_text())
    signature, agent_id = genesis.pop("signature"), genesis.pop("agent_id")
    assert hashlib.sha256(canonical(genesis)).hexdigest() == agent_id, file
    Ed25519PublicKey.from_public_bytes(decode(genesis["issuer_public_key"])).verify(decode(signature), canonical(genesis))
    assert json.loads((file.parent / file.name.replace("genesis", "agent")).read_text())["agent_id"] == agent_id
    count += 1
assert count == 2, count
assert load_pem_private_key((root / "issuer.pem").read_bytes(), None)

def number(text):
    # RFC 8785 writes 1.0 as 1; the other numbers of a manifest are the same in Python.
    return int(float(text)) if float(text).is_integer() else float(text)

manifest = json.loads((root / "manifest.json").read_text(), parse_float=number)
header, payload, signature = manifest.pop("manifest_signature").split(".")
assert payload == "" and json.loads(decode(header))["alg"] == "EdDSA"
signed = header.encode() + b"." + base64.urlsafe_b64encode(canonical(manifest)).rstrip(b"=")
load_pem_public_key((root / "public.pem").read_bytes()).verify(decode(signature), signed)
"#;

fn python(arguments: &[&str]) -> Option<Output> {
    Command::new("python3").args(arguments).stdin(Stdio::null()).output().ok()
}

fn agtp(arguments: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agtp")).args(arguments).current_dir(dir).output().unwrap()
}

fn scratch() -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("signatures");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// The manifest of the deployment in `dir`, signed with its `issuer.pem`, and that key's public half.
fn signed_manifest(dir: &Path) -> (String, String) {
    use agtp::compiler::key::SigningKey;
    use agtp::compiler::{ManifestTimes, ReadOptions, Signer, lower, read, sign_manifests};
    let key = SigningKey::from_pem(&std::fs::read_to_string(dir.join("issuer.pem")).unwrap()).unwrap();
    let deployment = read(dir, &ReadOptions::default()).deployment.unwrap();
    let mut registry = lower(&deployment, &ManifestTimes::of_directory(dir)).unwrap().registry;
    let public = key.public().to_pem().unwrap();
    sign_manifests(&mut registry, &Signer::new(key, None)).unwrap();
    (registry.str(registry.documents.manifest).to_owned(), public)
}

#[test]
fn others_verify_what_is_signed_here() {
    let dir = scratch();
    for name in ["porter", "maid"] {
        let made = agtp(&["agent", "new", name, "--scope", "rooms:read"], &dir);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    let (manifest, public) = signed_manifest(&dir);
    std::fs::write(dir.join("manifest.json"), &manifest).unwrap();
    std::fs::write(dir.join("public.pem"), public).unwrap();

    let check = |file: &str| agtp(&["check", file, "--key", "public.pem", "--json"], &dir);
    let report = check("manifest.json");
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.status.success() && text.contains(r#""signature":"verified""#), "{text}");
    std::fs::write(dir.join("tampered.json"), manifest.replace("porter", "burglar")).unwrap();
    assert_eq!(check("tampered.json").status.code(), Some(1));
    assert_eq!(check("absent.json").status.code(), Some(2));
    let verified = agtp(&["agent", "verify", "agents/porter.agent.json", "agents/maid.genesis.json"], &dir);
    assert!(verified.status.success());

    if python(&["-c", "import cryptography"]).is_none_or(|output| !output.status.success()) {
        eprintln!("skipped: python3 has no module cryptography");
        return;
    }
    let output = python(&["-c", VERIFY, dir.to_str().unwrap()]).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
