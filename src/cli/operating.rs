//! What `agtp-server.toml` says for operators: `[admin]` and `[log]`.

use super::Failure;
use crate::server::{Access, AdminError, Format, LogConfig, is_loopback};
use std::net::SocketAddr;
use std::path::Path;
use toml::{Table, Value};

/// A table of the settings, which were found to be TOML before.
fn table(text: &str, origin: &str, name: &str, keys: &[&str]) -> Result<Table, Failure> {
    let mut settings: Table = text.parse().unwrap_or_default();
    let table = match settings.remove(name) {
        None => Table::new(),
        Some(Value::Table(table)) => table,
        Some(_) => return Err(Failure(format!("{origin}: {name} is no table; write [{name}]"))),
    };
    match table.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => {
            Err(Failure(format!("{origin}: {name}.{key} is unknown; [{name}] has {}", keys.join(", "))))
        }
        None => Ok(table),
    }
}

/// `[admin] listen`.
pub(super) fn admin(text: &str, origin: &str) -> Result<Option<SocketAddr>, Failure> {
    let table = table(text, origin, "admin", &["listen"])?;
    let Some(listen) = table.get("listen") else { return Ok(None) };
    let address: Option<SocketAddr> = listen.as_str().and_then(|text| text.parse().ok());
    let expected = "expected \"ADDR:PORT\", such as \"127.0.0.1:9480\"";
    let address =
        address.ok_or_else(|| Failure(format!("{origin}: admin.listen is {listen}; {expected}")))?;
    match is_loopback(&address) {
        true => Ok(Some(address)),
        false => Err(Failure(format!("{origin}: {}", AdminError::Abroad(address)))),
    }
}

/// `[log]`; a file is relative to `base`.
pub(super) fn log(text: &str, origin: &str, base: &Path) -> Result<LogConfig, Failure> {
    let table = table(text, origin, "log", &["format", "access", "sample", "file"])?;
    let wrong = |key: &str, value: &Value, expected: &str| {
        Failure(format!("{origin}: log.{key} is {value}; expected {expected}"))
    };
    let word = |key: &str, words: [&str; 2]| match table.get(key) {
        None => Ok(false),
        Some(value) => match words.iter().position(|word| value.as_str() == Some(word)) {
            Some(at) => Ok(at == 1),
            None => Err(wrong(key, value, &format!("\"{}\" or \"{}\"", words[0], words[1]))),
        },
    };
    let format = if word("format", ["text", "json"])? { Format::Json } else { Format::Text };
    let sample = match table.get("sample") {
        None => 1,
        Some(value) => value
            .as_integer()
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| *number > 0)
            .ok_or_else(|| wrong("sample", value, "a whole number from 1 to 4294967295"))?,
    };
    let access = if word("access", ["off", "on"])? { Access::Sampled(sample) } else { Access::Off };
    let file = match table.get("file") {
        None => None,
        Some(Value::String(file)) if !file.is_empty() => Some(base.join(file)),
        Some(value) => return Err(wrong("file", value, "a file's name")),
    };
    Ok(LogConfig { format, access, file })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn nothing_is_told_or_logged_unless_it_is_asked_for() {
        let sample = include_str!("../../agtp-server.toml");
        for text in ["", "[admin]\n[log]\n", sample] {
            assert_eq!(admin(text, "s").unwrap(), None);
            let log = log(text, "s", Path::new("d")).unwrap();
            assert_eq!((log.format, log.access, log.file), (Format::Text, Access::Off, None));
        }
    }

    #[test]
    fn settings_are_read() {
        let address = admin("[admin]\nlisten = \"[::1]:9480\"", "s").unwrap();
        assert_eq!(address, Some("[::1]:9480".parse().unwrap()));
        let text = "[log]\nformat = \"json\"\naccess = \"on\"\nsample = 10\nfile = \"a.log\"";
        let log = log(text, "s", Path::new("d")).unwrap();
        assert_eq!((log.format, log.access), (Format::Json, Access::Sampled(10)));
        assert_eq!(log.file, Some(PathBuf::from("d/a.log")));
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_one_line() {
        for (text, part) in [
            ("[admin]\nlisten = \"0.0.0.0:9480\"", "no loopback address"),
            ("[admin]\nlisten = \"9480\"", "admin.listen is \"9480\"; expected \"ADDR:PORT\""),
            ("[admin]\nport = 1", "admin.port is unknown; [admin] has listen"),
            ("admin = 1", "write [admin]"),
        ] {
            let Failure(error) = admin(text, "s").unwrap_err();
            assert!(error.starts_with("s: ") && error.contains(part) && !error.contains('\n'), "{error}");
        }
        for (text, part) in [
            ("[log]\nformat = \"xml\"", "log.format is \"xml\"; expected \"text\" or \"json\""),
            ("[log]\naccess = true", "log.access is true; expected \"off\" or \"on\""),
            ("[log]\nsample = 0", "log.sample is 0; expected a whole number from 1"),
            ("[log]\nfile = 1", "log.file is 1; expected a file's name"),
            ("[log]\nlevel = 1", "log.level is unknown; [log] has format, access, sample, file"),
        ] {
            let Failure(error) = log(text, "s", Path::new("")).unwrap_err();
            assert!(error.starts_with("s: ") && error.contains(part) && !error.contains('\n'), "{error}");
        }
    }
}
