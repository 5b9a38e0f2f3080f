//! The story on a real OpenSandbox server, from the server's set-up to its end.
//! `make test-opensandbox` prepares what it needs.

#[path = "../it/program.rs"]
#[allow(dead_code, reason = "shared with the other end-to-end tests")]
mod program;

use std::net::TcpListener;

use program::{Folder, Ran};
use serde_json::Value;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `make test-opensandbox`"))
}

/// A folder with a server of its own, which is stopped at the end.
struct WithServer(Folder);

impl WithServer {
    fn start() -> Self {
        let folder = Self(Folder::new());
        folder.init().succeeded();
        folder
    }

    fn init(&self) -> Ran {
        let port_file = self.0.path().join("port");
        let port = std::fs::read_to_string(&port_file).unwrap_or_else(|_| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port().to_string();
            std::fs::write(&port_file, &port).unwrap();
            port
        });
        self.0.host(&[
            "sandbox",
            "init",
            "--engine",
            "podman",
            "--port",
            &port,
            "--image",
            &variable("KEEPSAKE_TEST_OPENSANDBOX_IMAGE"),
            "--execd-image",
            &variable("KEEPSAKE_TEST_OPENSANDBOX_EXECD_IMAGE"),
            "--no-egress",
            "--json",
        ])
    }

    fn ask(&self, message: &str) -> Value {
        self.0
            .say(
                "support-agent",
                message,
                &["--resource", "jordan", "--json"],
            )
            .succeeded()
            .json()
    }

    fn sandboxes(&self) -> Vec<Value> {
        let list = self
            .0
            .host(&["sandbox", "list", "--json"])
            .succeeded()
            .json();
        list["sandboxes"].as_array().unwrap().clone()
    }
}

impl Drop for WithServer {
    fn drop(&mut self) {
        self.0.host(&["sandbox", "down"]);
    }
}

#[test]
fn a_customer_is_remembered_across_containers_of_a_real_server() {
    let server = WithServer::start();
    let first = server.ask("Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.");
    let second = server.ask("Which plan am I on?");

    assert!(first["sandbox"].is_string() && second["sandbox"].is_string());
    assert_ne!(first["sandbox"], second["sandbox"]);
    let reply = second["reply"].as_str().unwrap();
    assert!(reply.contains("Jordan is on the Pro plan."), "{reply}");
    assert!(reply.contains("(verified)"), "{reply}");
    let opened = server.0.entries("sandbox-opened");
    assert_eq!(opened[0]["payload"]["backend"], "opensandbox");
    assert_eq!(opened[0]["payload"]["sandbox"], first["sandbox"]);
    // A session that ends leaves no container behind. Others' are none of ours.
    for sandbox in server.sandboxes() {
        assert_ne!(sandbox["id"], first["sandbox"]);
        assert_ne!(sandbox["id"], second["sandbox"]);
    }
    server.0.host(&["ledger", "verify"]).succeeded();

    let doctor = server.0.host(&["doctor"]).succeeded();
    assert!(
        doctor.stdout.contains("OpenSandbox 1.1.1"),
        "{}",
        doctor.stdout
    );
}

#[test]
fn setting_up_a_second_time_changes_nothing_and_the_key_stays_in_its_file() {
    let server = WithServer::start();
    let configuration = std::fs::read_to_string(server.0.path().join("host.toml")).unwrap();
    let again = server.init().succeeded().json();
    assert_eq!(again["started"], false);
    assert_eq!(again["changed"], false);
    assert_eq!(
        std::fs::read_to_string(server.0.path().join("host.toml")).unwrap(),
        configuration
    );

    let key = std::fs::read_to_string(server.0.path().join(".keepsake/opensandbox/key")).unwrap();
    assert!(!configuration.contains(key.trim()));
    let turn = server.ask("Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.");
    assert!(!turn.to_string().contains(key.trim()));
    let ledger = server.0.host(&["ledger", "show", "--json"]).stdout;
    assert!(!ledger.contains(key.trim()));

    server.0.host(&["sandbox", "down"]).succeeded();
    let gone = server.0.host(&["sandbox", "list"]);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(
        gone.stderr.contains("check that the server runs"),
        "{gone:?}"
    );
}

#[test]
fn a_server_that_is_gone_or_a_wrong_key_costs_the_sandbox_and_not_the_conversation() {
    let server = WithServer::start();
    let key = server.0.path().join(".keepsake/opensandbox/key");
    let right = std::fs::read_to_string(&key).unwrap();
    std::fs::write(&key, "wrong\n").unwrap();
    let turn = server
        .0
        .say(
            "support-agent",
            "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.",
            &["--resource", "jordan"],
        )
        .succeeded();
    assert!(turn.stdout.contains("Jordan"), "{turn:?}");
    assert!(turn.stderr.contains("key"), "{turn:?}");
    // What no command showed is remembered and not verified.
    assert_eq!(server.0.facts("jordan")[0]["verified"], false);

    std::fs::write(&key, right).unwrap();
    server.0.host(&["sandbox", "down"]).succeeded();
    let turn = server
        .0
        .say(
            "support-agent",
            "Which plan am I on?",
            &["--resource", "jordan"],
        )
        .succeeded();
    assert!(turn.stdout.contains("Pro plan"), "{turn:?}");
}
