//! The OpenSandbox backend keeps the contract, with a server that the
//! environment names. Run with `--features real-opensandbox`.

use keepsake_client::Credential;
use keepsake_sandbox::{
    KEY_HEADER, NetworkPolicy, OpenSandboxBackend, OpenSandboxOptions, SandboxBackend,
};

const URL: &str = "KEEPSAKE_TEST_OPENSANDBOX_URL";
const KEY: &str = "KEEPSAKE_TEST_OPENSANDBOX_KEY";
const IMAGE: &str = "KEEPSAKE_TEST_OPENSANDBOX_IMAGE";
/// Set to 1, sandboxes are reached through the server.
const PROXY: &str = "KEEPSAKE_TEST_OPENSANDBOX_PROXY";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: these tests need a running OpenSandbox server; set {URL}, {KEY} \
             and {IMAGE}, or leave the feature `real-opensandbox` out"
        )
    })
}

fn backend() -> OpenSandboxBackend {
    let mut options = OpenSandboxOptions::new(variable(URL), variable(IMAGE));
    options.key = Some(Credential::from_variable(KEY, Some(KEY_HEADER)).unwrap());
    options.use_server_proxy = std::env::var_os(PROXY).is_some_and(|value| value == "1");
    // A server for tests has no program that restricts the network.
    options.network = NetworkPolicy::Server;
    OpenSandboxBackend::new(options).unwrap()
}

keepsake_sandbox::contract_tests!(backend());

#[tokio::test(flavor = "multi_thread")]
async fn a_check_runs_a_command_and_tells_the_version() {
    let report = backend().check().await.unwrap();
    assert_eq!(report.backend, "opensandbox");
    assert!(report.isolated);
    assert!(report.engine.starts_with("OpenSandbox "), "{report:?}");
    assert!(report.notes.iter().any(|note| note.contains("network")));
}
