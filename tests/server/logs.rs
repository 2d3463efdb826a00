//! The access log on every configuration: one line for each answer, whoever is slow.

use super::common::Folder;
use super::handlers::{self, fetch};
use super::rig::{Client, PATIENCE, configs, start, status};
use agtp::server::{Access, Format, Log, LogConfig, ServerConfig};
use serde_json::Value;
use std::path::Path;

fn logging(config: &mut ServerConfig, folder: &Folder) -> Log {
    let file = Some(folder.path().join("access.log"));
    let log = Log::open(LogConfig { format: Format::Json, access: Access::Sampled(1), file }).unwrap();
    config.log = Some(log.clone());
    log
}

fn lines(folder: &Folder) -> Vec<Value> {
    let path: &Path = &folder.path().join("access.log");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_answer_has_its_line_with_what_was_answered() {
    for mut config in configs() {
        let folder = Folder::with(&[]);
        let log = logging(&mut config, &folder);
        let cores = config.cores as u64;
        config.timeouts.header = std::time::Duration::from_millis(50);
        let running = start(handlers::engine(), &config).unwrap();
        let mix = [("plain", 200), ("stumble", 200), ("never", 408), ("nowhere", 404), ("plain?more=1", 422)];
        let mut expected = Vec::new();
        for client in 0..10 {
            let mut connection = Client::to(&running);
            let id = |at| format!("{client}-{at}");
            let batch: Vec<u8> =
                mix.iter().enumerate().flat_map(|(at, (name, _))| fetch(name, id(at))).collect();
            connection.send(&batch);
            for (at, (name, wanted)) in mix.iter().enumerate() {
                let answer = connection.answer();
                assert_eq!(status(&answer), *wanted);
                let path = format!("/{}", name.split('?').next().unwrap());
                expected.push((id(at), *wanted, path, answer.len()));
            }
            // Not whole in time.
            connection.send("AGTP/1.0 FETCH /plain\r\nRequest-ID: slow\r\nX");
            assert_eq!(status(&connection.answer()), 408);
        }
        running.stop().unwrap();
        log.close(PATIENCE);
        let lines = lines(&folder);
        assert_eq!(lines.len(), expected.len() + 10);
        assert!(
            lines.iter().all(|line| line["core"].as_u64() < Some(cores) && line["client"] == "127.0.0.1")
        );
        for (id, status, path, len) in expected {
            let line = lines.iter().find(|line| line["request_id"] == id.as_str()).expect("a line for each");
            assert_eq!((&line["status"], &line["path"]), (&status.into(), &path.as_str().into()));
            assert_eq!((&line["bytes"], line["us"].is_u64()), (&len.into(), true));
        }
        assert_eq!(log.dropped(), 0);
    }
}
