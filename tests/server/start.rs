//! Starting.

use super::common;
use super::rig::{Client, configs, start, status};

#[test]
fn two_servers_on_one_port_are_refused_with_an_explanation() {
    for config in configs() {
        let first = start(common::sample(), &config).unwrap();
        let mut again = config.clone();
        again.listen = first.addresses().to_vec();
        let message =
            start(common::sample(), &again).err().map(|error| error.to_string()).unwrap_or_default();
        let address = first.addresses()[0];
        assert!(message.starts_with(&format!("cannot listen on {address}: the port is in use")), "{message}");
        assert!(!message.contains('\n'), "{message}");
        // The first one is none the worse for it, and its port is free again once it has stopped.
        let mut client = Client::to(&first);
        client.send("AGTP/1.0 DISCOVER\r\n\r\n");
        assert_eq!(status(&client.answer()), 200);
        drop(client);
        first.stop().unwrap();
        start(common::sample(), &again).unwrap().stop().unwrap();
    }
}
