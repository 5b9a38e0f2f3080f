//! The OpenSandbox backend against what real servers were recorded to answer,
//! and against bad days, over real HTTP.

#[path = "../../../tests/it/http_server.rs"]
mod http_server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_server::{Request, Server, answer, json};
use keepsake_client::Credential;
use keepsake_sandbox::{
    Command, ExitStatus, KEY_HEADER, NetworkPolicy, OpenSandboxBackend, OpenSandboxOptions,
    Sandbox, SandboxBackend, SandboxError, SandboxRequest,
};
use serde_json::Value;

/// The key that must reach the server and nobody else.
const KEY: &str = "hunter2-0123456789";

/// How a server answers badly.
type BadDay = fn() -> Vec<u8>;

/// A recorded answer of the lifecycle server, by the exchange's name.
fn recorded(name: &str) -> (u16, String) {
    let all: Value = serde_json::from_str(include_str!(
        "../../../tests/opensandbox/captures/lifecycle.json"
    ))
    .unwrap();
    let exchange = all
        .as_array()
        .unwrap()
        .iter()
        .find(|exchange| exchange["name"] == name)
        .unwrap_or_else(|| panic!("{name} is not recorded"));
    let response = &exchange["response"];
    let status = response["status"].as_u64().unwrap() as u16;
    let body = response["body"]["text"].as_str().unwrap_or_default();
    (status, body.to_owned())
}

fn replay(name: &str) -> Vec<u8> {
    let (status, body) = recorded(name);
    answer(&format!("{status} Recorded"), "application/json", &body)
}

fn backend(server: &Server) -> OpenSandboxBackend {
    backend_with(server, Duration::from_secs(20))
}

fn backend_with(server: &Server, create_timeout: Duration) -> OpenSandboxBackend {
    let mut options = OpenSandboxOptions::new(format!("http://{}", server.address()), "image");
    options.key = Some(Credential::new("KEY", KEY, Some(KEY_HEADER)).unwrap());
    options.network = NetworkPolicy::Server;
    options.create_timeout = create_timeout;
    OpenSandboxBackend::new(options).unwrap()
}

async fn refused(server: &Server) -> String {
    let error = backend(server).list().await.unwrap_err();
    let text = error.to_string();
    assert!(!text.contains("hunter2"), "{text}");
    text
}

#[tokio::test]
async fn a_recorded_listing_is_read() {
    let server = Server::start(|_, _| replay("life-list-filter-meta"));
    let listed = backend(&server).list().await.unwrap();
    assert_eq!(listed[0].id, "6f334c42-9633-4ec0-99fc-7d775de544b6");
    assert_eq!(listed[0].image.as_deref(), Some("localhost/sbx:latest"));
    assert!(listed[0].created_at.is_some());
    let asked = &server.requests()[0];
    assert_eq!(asked.header("OPEN-SANDBOX-API-KEY"), Some(KEY));
    assert!(asked.path.starts_with("/v1/sandboxes?"), "{}", asked.path);
}

#[tokio::test]
async fn every_recorded_refusal_is_told_in_the_servers_words() {
    let names = [
        ("life-create-bad-memory", "SANDBOX::INVALID_PARAMETER"),
        ("life-create-image-missing", "Failed to pull image"),
        ("life-create-timeout-59", "greater than or equal to 60"),
        ("life-create-env-int", "valid string"),
        ("life-list-filter-meta-bad", "Invalid metadata format"),
        ("life-pools", "POOL_NOT_SUPPORTED"),
        ("life-templates", "FSB::API_NOT_SUPPORTED"),
        ("life-renew-past", "must be in the future"),
        ("life-delete-exits-0", "SANDBOX_DELETE_FAILED"),
        ("life-proxy-dead-port", "BACKEND_CONNECTION_FAILED"),
    ];
    for (name, told) in names {
        let server = Server::start(move |_, _| replay(name));
        let text = refused(&server).await;
        assert!(text.contains(told), "{name}: {text}");
    }
}

#[tokio::test]
async fn what_a_refusal_repeats_of_the_request_is_not_told() {
    let server = Server::start(|_, _| {
        answer(
            "422 Unprocessable Content",
            "application/json",
            r#"{"detail":[{"type":"x","loc":["body","env"],"msg":"wrong","input":{"TOKEN":"secret-value"}}]}"#,
        )
    });
    let text = refused(&server).await;
    assert!(
        text.contains("wrong") && !text.contains("secret-value"),
        "{text}"
    );
}

#[tokio::test]
async fn a_wrong_key_is_told_with_what_to_do() {
    let server = Server::start(|_, _| {
        answer(
            "401 Unauthorized",
            "application/json",
            r#"{"code":"INVALID_API_KEY","message":"Authentication credentials are invalid."}"#,
        )
    });
    let text = refused(&server).await;
    assert!(text.contains("set the right key"), "{text}");
}

#[tokio::test]
async fn a_repeated_pause_is_no_failure_once_the_server_says_that_it_is_paused() {
    let server = Server::start(|request, _| match request.method.as_str() {
        "POST" => replay("life-pause-again"),
        _ => replay("life-get-paused"),
    });
    let id = "6f334c42-9633-4ec0-99fc-7d775de544b6";
    backend(&server).pause(id).await.unwrap();

    // One that has ended is not paused, whatever was asked for.
    let server = Server::start(|request, _| match request.method.as_str() {
        "POST" => replay("life-pause-exits-0"),
        _ => replay("life-get-exits-0"),
    });
    assert!(backend(&server).pause(id).await.is_err());
}

#[tokio::test]
async fn a_sandbox_that_is_gone_counts_as_deleted() {
    let server = Server::start(|_, _| replay("life-delete-twice"));
    let id = "5f0bcf7f-0164-4671-a998-c99fdc4288a7";
    assert!(!backend(&server).delete(id).await.unwrap());
    let server = Server::start(|_, _| replay("life-delete-ok"));
    assert!(backend(&server).delete(id).await.unwrap());
    // A name that is no id leads to no other address.
    let error = backend(&server).delete("../snapshots/x").await.unwrap_err();
    assert!(!error.to_string().is_empty());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn bad_answers_are_told_for_what_they_are() {
    let days: [(&str, BadDay); 5] = [
        ("502", || {
            answer("502 Bad Gateway", "text/html", "<html>Bad Gateway</html>")
        }),
        ("not what OpenSandbox answers", || {
            answer("200 OK", "application/json", "{\"items\": [{\"id\"")
        }),
        ("redirect", || {
            b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
                .to_vec()
        }),
        ("message head is too large", || {
            let mut head = b"HTTP/1.1 200 OK\r\nx: ".to_vec();
            head.resize(10 << 20, b'a');
            head
        }),
        ("connection", Vec::new),
    ];
    for (told, day) in days {
        let server = Server::start(move |_, _| day());
        let text = refused(&server).await;
        assert!(text.contains(told), "{told}: {text}");
    }
    let nobody = OpenSandboxOptions::new("http://127.0.0.1:1", "image");
    let text = OpenSandboxBackend::new(nobody)
        .unwrap()
        .list()
        .await
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("http://127.0.0.1:1: it refuses the connection; check that the server runs"),
        "{text}"
    );
}

#[tokio::test]
async fn a_server_that_is_busy_for_a_moment_is_asked_again() {
    let server = Server::start(|_, number| match number {
        0 => answer("503 Service Unavailable", "text/plain", "starting"),
        _ => replay("life-list-all"),
    });
    assert!(!backend(&server).list().await.unwrap().is_empty());
    assert_eq!(server.requests().len(), 2);
}

/// How a fake daemon answers the commands that follow the first one, which
/// makes a sandbox fit for use.
type Daemon = fn(&Request) -> Vec<u8>;

fn stream(events: &[Value]) -> Vec<u8> {
    let frames: String = events.iter().map(|event| format!("{event}\n\n")).collect();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{frames}"
    )
    .into_bytes()
}

fn event(kind: &str, text: &str) -> Value {
    serde_json::json!({ "type": kind, "text": text, "timestamp": 1 })
}

fn ready() -> Vec<u8> {
    stream(&[
        event("init", "c-1"),
        event("stdout", "ready"),
        serde_json::json!({ "type": "something-new", "timestamp": 1 }),
        serde_json::json!({ "type": "execution_complete", "execution_time": 3, "timestamp": 1 }),
    ])
}

/// A sandbox's daemon, which answers its first command and then as it is told.
fn daemon(later: Daemon) -> Arc<Server> {
    let commands = AtomicUsize::new(0);
    Arc::new(Server::start(move |request, _| {
        let is_command = request.method == "POST" && request.path.ends_with("/command");
        match request.path.as_str() {
            path if path.ends_with("/ping") => answer("200 OK", "text/plain", ""),
            _ if is_command && commands.fetch_add(1, Ordering::SeqCst) == 0 => ready(),
            _ => later(request),
        }
    }))
}

/// The lifecycle server's part, for a sandbox with that daemon.
fn lifecycle(daemon: &Server, create: fn(&Request) -> Vec<u8>) -> Server {
    let address = daemon.address();
    Server::start(move |request, _| {
        if request.path.contains("/endpoints/") {
            let endpoint = format!("{address}/proxy/44772");
            return json(&serde_json::json!({ "endpoint": endpoint }));
        }
        match request.method.as_str() {
            "POST" if request.path == "/v1/sandboxes" => create(request),
            "GET" if request.path.starts_with("/v1/sandboxes?") => replay("life-list-filter-meta"),
            "GET" => replay("life-get-ok"),
            "DELETE" => replay("life-delete-ok"),
            _ => replay("life-renew-ok"),
        }
    })
}

fn not_found(_: &Request) -> Vec<u8> {
    answer(
        "404 Not Found",
        "application/json",
        r#"{"code":"FILE_NOT_FOUND","message":"file not found"}"#,
    )
}

async fn made(server: &Server) -> Arc<dyn Sandbox> {
    backend(server)
        .create(SandboxRequest::default())
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_never_reaches_a_sandbox() {
    let daemon = daemon(not_found);
    let server = lifecycle(&daemon, |_| replay("life-create-ok"));
    let sandbox = made(&server).await;
    sandbox.close().await.unwrap();
    let reached = daemon.requests();
    assert!(reached.len() >= 2, "{reached:?}");
    for request in reached {
        assert!(
            request.path.starts_with("/proxy/44772/"),
            "{}",
            request.path
        );
        assert!(!format!("{request:?}").contains("hunter2"), "{request:?}");
    }
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.header("OPEN-SANDBOX-API-KEY") == Some(KEY))
    );
    assert!(
        server
            .requests()
            .iter()
            .any(|request| request.method == "DELETE")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_takes_long_is_waited_for() {
    let daemon = daemon(not_found);
    let server = lifecycle(&daemon, |_| {
        std::thread::sleep(Duration::from_secs(3));
        replay("life-create-ok")
    });
    made(&server).await.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_whose_answer_was_lost_is_found_by_its_label() {
    let daemon = daemon(not_found);
    // The server takes the request and hangs up.
    let server = lifecycle(&daemon, |_| Vec::new());
    let sandbox = made(&server).await;
    let asked = server.requests();
    let creations = asked
        .iter()
        .filter(|request| request.method == "POST" && request.path == "/v1/sandboxes");
    let orders: Vec<_> = creations.map(Request::json).collect();
    assert_eq!(orders.len(), 1, "a lost creation was repeated");
    let label = orders[0]["metadata"]["keepsake"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        asked.iter().any(|request| request.path.contains(&label)),
        "it was not looked for by its label: {asked:?}"
    );
    sandbox.close().await.unwrap();
}

#[tokio::test]
async fn a_key_that_the_server_repeats_is_in_no_error() {
    let server = Server::start(|_, number| {
        let told = match number {
            0 => format!(r#"{{"code":"INVALID_API_KEY","message":"no such key: {KEY}"}}"#),
            1 => format!("bad header OPEN-SANDBOX-API-KEY: {KEY}"),
            2 => r#"{"detail":"key=hunter2%2D0123456789"}"#.to_owned(),
            _ => {
                return format!(
                    "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/?key={KEY}\r\nContent-Length: 0\r\n\r\n"
                )
                .into_bytes();
            }
        };
        answer("401 Unauthorized", "application/json", &told)
    });
    for _ in 0..4 {
        let text = refused(&server).await;
        assert!(text.contains("****"), "{text}");
        assert!(!text.contains("0123456789"), "{text}");
    }
}

/// The lifecycle server's part where the answer about a checkpoint is lost, with
/// what it lists then.
fn forgetful(daemon: &Server, listed: fn(name: &str, look: usize) -> Value) -> Server {
    let address = daemon.address();
    let (name, looks) = (std::sync::Mutex::new(String::new()), AtomicUsize::new(0));
    Server::start(move |request, _| {
        let snapshots = request.path.contains("snapshots");
        match request.method.as_str() {
            "POST" if snapshots => {
                *name.lock().unwrap() = request.json()["name"].as_str().unwrap().to_owned();
                Vec::new()
            }
            "GET" if request.path.starts_with("/v1/snapshots?") => json(&serde_json::json!({
                "items": listed(&name.lock().unwrap(), looks.fetch_add(1, Ordering::SeqCst)),
            })),
            "GET" if snapshots => replay("life-snap-get-final"),
            "DELETE" if snapshots => replay("life-snap-delete"),
            "POST" if request.path == "/v1/sandboxes" => replay("life-create-ok"),
            "GET" if request.path.contains("/endpoints/") => {
                json(&serde_json::json!({ "endpoint": format!("{address}/proxy/44772") }))
            }
            "GET" => replay("life-get-ok"),
            "DELETE" => replay("life-delete-ok"),
            _ => replay("life-renew-ok"),
        }
    })
}

fn listed_snapshot(name: &str) -> Value {
    serde_json::json!({ "id": "snap-1", "name": name, "status": { "state": "Creating" } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_whose_answer_was_lost_is_found_by_its_name() {
    let daemon = daemon(not_found);
    let server = forgetful(&daemon, |name, look| match look {
        // One of another name is not taken for it.
        0 => serde_json::json!([listed_snapshot("other")]),
        _ => serde_json::json!([listed_snapshot("other"), listed_snapshot(name)]),
    });
    let sandbox = made(&server).await;
    let checkpoint = sandbox.checkpoint("before").await.unwrap();
    assert_eq!(checkpoint.id, "snap-1");
    let requests = server.requests();
    let asked = |method: &str, path: &str| {
        let matching = requests
            .iter()
            .filter(|request| request.method == method && request.path.contains(path));
        matching.count()
    };
    assert_eq!(
        asked("POST", "/snapshots"),
        1,
        "a lost checkpoint was repeated"
    );
    assert_eq!(asked("GET", "/v1/snapshots/snap-1"), 1);
    sandbox.close().await.unwrap();
    assert!(
        server
            .requests()
            .iter()
            .any(|request| request.method == "DELETE" && request.path.ends_with("/snap-1"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_checkpoint_that_comes_late_is_deleted() {
    let daemon = daemon(not_found);
    let server = forgetful(&daemon, |name, look| match look {
        0..5 => serde_json::json!([]),
        _ => serde_json::json!([listed_snapshot(name)]),
    });
    let sandbox = backend_with(&server, Duration::from_secs(2))
        .create(SandboxRequest::default())
        .await
        .unwrap();
    let error = sandbox.checkpoint("before").await.unwrap_err();
    assert!(error.to_string().contains("checkpoint"), "{error}");
    let begun = std::time::Instant::now();
    let deleted = || {
        let requests = server.requests();
        requests
            .iter()
            .any(|request| request.method == "DELETE" && request.path.ends_with("/snap-1"))
    };
    while !deleted() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it stays");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    sandbox.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_stream_broke_is_found_again_by_its_id() {
    let daemon = daemon(|request| match request.path.as_str() {
        path if path.ends_with("/command") && request.body.contains("deploy") => {
            stream(&[event("init", "c-2"), event("stdout", "keepsake-started")])
        }
        path if path.ends_with("/command") => ready(),
        path if path.ends_with("/command/status/c-2") => json(&serde_json::json!({
            "id": "c-2", "content": "…", "running": false, "exit_code": 7,
            "started_at": "2026-12-01T15:42:40.587676202Z",
            "finished_at": "2026-12-01T15:42:41.587676202Z",
        })),
        _ => not_found(request),
    });
    let server = lifecycle(&daemon, |_| replay("life-create-ok"));
    let sandbox = made(&server).await;
    let done = sandbox.exec(Command::new("deploy")).await.unwrap();
    assert_eq!(done.status, ExitStatus::Code(7));
    sandbox.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_stream_breaks_off_did_not_succeed() {
    let daemon = daemon(|request| match request.path.as_str() {
        path if path.ends_with("/command") => {
            stream(&[event("init", "c-2"), event("stdout", "keepsake-started")])
        }
        _ => not_found(request),
    });
    let server = lifecycle(&daemon, |_| replay("life-create-ok"));
    let sandbox = made(&server).await;
    let done = sandbox.exec(Command::new("deploy")).await;
    match done {
        Ok(result) => assert!(
            matches!(result.status, ExitStatus::Unknown(_)),
            "{:?}",
            result.status
        ),
        Err(error) => assert!(
            matches!(error, SandboxError::Unavailable { .. }),
            "{error:?}"
        ),
    }
    let deployments = daemon
        .requests()
        .iter()
        .filter(|request| request.body.contains("deploy"))
        .count();
    assert_eq!(deployments, 1, "a command was sent twice");
    sandbox.close().await.unwrap();
}
