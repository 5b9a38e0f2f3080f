//! What plugins wish and what they get: over real processes, with real servers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use keepsake_test_artifacts::{ASKING_AGENT, MINIMAL_AGENT, UNRULY_AGENT};

use crate::http_server::{Server, answer};
use crate::program::{Folder, Ran};

/// Writes the agent that asks servers, with these wishes.
fn asking(folder: &Folder, wishes: &str) {
    let manifest = format!(
        "manifest = 1\nname = \"asking\"\nkind = \"agent\"\nlanguage = \"rust\"\n\n[wishes]\n{wishes}\n"
    );
    let wasm = fs::read(ASKING_AGENT).unwrap();
    folder.write("asking.wasm", keepsake_rights::embed(&wasm, &manifest));
}

fn ask(folder: &Folder, message: &str) -> Ran {
    folder.say("asking.wasm", message, &["--resource", "jordan"])
}

fn http(server: &Server) -> String {
    format!("http://{}", server.address())
}

fn greeting() -> Server {
    Server::start(|_, _| answer("200 OK", "text/plain", "good day"))
}

#[test]
fn an_agent_asks_the_servers_that_it_wishes_and_was_granted() {
    let (server, other) = (greeting(), greeting());
    let (url, elsewhere) = (http(&server), http(&other));
    let folder = Folder::configured(&format!(
        "[grants.asking]\nhttp = [\"{url}\", \"{elsewhere}\"]"
    ));
    asking(&folder, &format!("http = [\"{url}\"]"));
    let ran = ask(&folder, &format!("get {url}/greet?name=hidden")).succeeded();
    assert!(ran.stdout.contains("good day"), "{ran:?}");
    let request = &folder.entries("http-request")[0]["payload"];
    assert_eq!(
        (request["method"].as_str(), request["path"].as_str()),
        (Some("GET"), Some("/greet"))
    );
    assert_eq!(request["server"], url.as_str());
    let response = &folder.entries("http-response")[0]["payload"];
    assert_eq!(response["status"], 200);

    // Granted, and not wished.
    let ran = ask(&folder, &format!("get {elsewhere}/")).succeeded();
    assert!(ran.stdout.contains("Denied"), "{ran:?}");
    assert!(other.requests().is_empty());
    let denied = &folder.entries("denied")[0]["payload"];
    assert_eq!(
        (denied["what"].as_str(), denied["server"].as_str()),
        (Some("http"), Some(elsewhere.as_str()))
    );
    folder.host(&["ledger", "verify"]).succeeded();
}

#[test]
fn a_redirect_leads_nowhere_that_was_not_granted() {
    let other = greeting();
    let to = format!("{}/secret", http(&other));
    let server = Server::start(move |_, _| {
        format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .into_bytes()
    });
    let url = http(&server);
    let folder = Folder::configured(&format!("[grants.asking]\nhttp = [\"{url}\"]"));
    asking(&folder, &format!("http = [\"{url}\"]"));
    let ran = ask(&folder, &format!("get {url}/")).succeeded();
    assert!(ran.stdout.contains("302"), "{ran:?}");
    let ran = ask(&folder, &format!("follow {url}/")).succeeded();
    assert!(ran.stdout.contains("Denied"), "{ran:?}");
    assert!(other.requests().is_empty());
    assert_eq!(folder.entries("denied").len(), 1);
}

#[test]
fn a_wish_that_was_not_granted_is_refused_before_anything_runs_with_the_lines_to_add() {
    let server = greeting();
    let url = http(&server);
    let folder = Folder::new();
    asking(
        &folder,
        &format!("http = [\"{url}\"]\nsandbox-network = true"),
    );
    let lines = "[grants.asking]\n";
    let refused = ask(&folder, "hello").failed(7, &[&url, "sandbox", lines, "host.toml"]);
    assert!(!folder.path().join(".keepsake").exists());
    let inspected = folder
        .host(&["inspect", "asking.wasm", "--json"])
        .succeeded()
        .json();
    let add = inspected["rights"]["add"].as_str().unwrap();
    assert!(refused.stderr.contains(add), "{refused:?}");
    let text = folder.host(&["inspect", "asking.wasm"]).succeeded().stdout;
    assert!(text.contains("missing\n") && text.contains(add), "{text}");

    // The lines that are printed are the lines that help.
    folder.write("host.toml", add);
    let ran = ask(&folder, &format!("get {url}/")).succeeded();
    assert!(ran.stdout.contains("good day"), "{ran:?}");
    let inspected = folder
        .host(&["inspect", "asking.wasm", "--json"])
        .succeeded()
        .json();
    assert!(inspected["rights"]["add"].is_null());
    assert_eq!(inspected["rights"]["gets"]["http"][0], url.as_str());

    // A changed plugin that wishes no more runs on, and one that does is refused.
    asking(&folder, &format!("http = [\"{url}\"]\n# changed"));
    ask(&folder, &format!("get {url}/")).succeeded();
    asking(
        &folder,
        &format!("http = [\"{url}\", \"https://more.example\"]"),
    );
    let refused = ask(&folder, "hello").failed(7, &["https://more.example", "in place of"]);
    assert!(
        refused.stderr.contains(&url),
        "what was granted stays in the lines"
    );

    // Or it runs without.
    folder.write("host.toml", format!("{add}deny-rest = true\n"));
    ask(&folder, &format!("get {url}/")).succeeded();
}

#[test]
fn a_grant_for_one_build_is_for_no_other() {
    let server = greeting();
    let url = http(&server);
    let folder = Folder::new();
    asking(&folder, &format!("http = [\"{url}\"]"));
    let inspected = folder
        .host(&["inspect", "asking.wasm", "--json"])
        .succeeded()
        .json();
    let hash = inspected["hash"].as_str().unwrap();
    folder.write(
        "host.toml",
        format!("[grants.asking]\nhash = \"blake3:{hash}\"\nhttp = [\"{url}\"]"),
    );
    ask(&folder, &format!("get {url}/")).succeeded();
    asking(&folder, &format!("http = [\"{url}\"]\n# changed"));
    ask(&folder, "hello").failed(7, &["another build", "blake3:"]);
}

#[test]
fn an_interface_that_the_operator_leaves_out_is_refused_before_anything_runs() {
    let folder = Folder::configured("[grants.minimal-agent]\ninterfaces = [\"memory\"]");
    folder
        .say(MINIMAL_AGENT, "hello", &["--resource", "jordan"])
        .failed(7, &["keepsake:host/sandbox", "[grants.minimal-agent]"]);
    assert!(!folder.database().exists());
}

#[test]
fn a_grant_that_fits_nothing_is_told() {
    let folder = Folder::configured("[grants.asking]\nhtpt = []");
    folder
        .host(&["doctor"])
        .failed(2, &["[grants.asking]", "did you mean `http`?"]);
    let other = "00".repeat(32);
    let folder = Folder::configured(&format!(
        "[grants.support-agent]\nhash = \"blake3:{other}\""
    ));
    let doctor = folder.host(&["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("[grants.support-agent] is for another build"),
        "{doctor:?}"
    );
    let folder = Folder::configured("[grants.suport-agent]\nhttp = []");
    let ran = folder.support(&["--message", "hello"]).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        told.contains("did you mean [grants.support-agent]?"),
        "{told}"
    );
}

#[test]
fn a_sandbox_has_a_network_where_that_was_wished_and_granted() {
    let folder = Folder::new();
    let ours = fs::read_link("/proc/self/ns/net").unwrap();
    let ours = ours.to_str().unwrap();
    let wasm = fs::read(UNRULY_AGENT).unwrap();
    let wishing = |wishes: &str| {
        let manifest = format!(
            "name = \"unruly\"\nkind = \"agent\"\nlanguage = \"rust\"\n[wishes]\n{wishes}\n"
        );
        folder.write("unruly.wasm", keepsake_rights::embed(&wasm, &manifest));
        folder
            .say(
                "unruly.wasm",
                "exec readlink /proc/self/ns/net",
                &["--resource", "jordan"],
            )
            .succeeded()
            .stdout
    };
    assert!(wishing("").contains("net:["));
    folder.write("host.toml", "[grants.unruly]\nsandbox-network = true");
    // Granted, and not wished.
    assert!(!wishing("").contains(ours));
    assert!(wishing("sandbox-network = true").contains(ours));
}

/// The secret of these tests, which no file that a run leaves may hold.
const SECRET: &str = "crm-0123456789-abcdef";

/// Whether a file below a folder holds these bytes.
fn holds(folder: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => holds(&path, bytes),
            false => {
                let content = fs::read(&path).unwrap();
                content.windows(bytes.len()).any(|part| part == bytes)
            }
        }
    })
}

/// A server that repeats the key that it was sent: in a header, and in a body
/// whose pieces part the key.
fn repeating() -> Server {
    Server::start(|request, _| {
        let key = request.header("x-key").unwrap_or("none").to_owned();
        let (first, second) = key.split_at(key.len() / 2);
        let body = format!(
            "{:x}\r\nyou sent {first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
            "you sent ".len() + first.len(),
            second.len()
        );
        format!("HTTP/1.1 200 OK\r\nX-Repeated: {key}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{body}").into_bytes()
    })
}

#[test]
fn a_secret_is_in_the_request_and_nowhere_else() {
    let (server, other) = (repeating(), repeating());
    let (url, elsewhere) = (http(&server), http(&other));
    let folder = Folder::configured(&format!(
        "[grants.asking]\nhttp = [\"{url}\", \"{elsewhere}\"]\nsecrets = {{ CRM_TOKEN = \"{url}\" }}\n"
    ));
    asking(
        &folder,
        &format!(
            "http = [\"{url}\", \"{elsewhere}\"]\nsecrets = {{ CRM_TOKEN = {{ for = \"{url}\", header = \"x-key\" }} }}"
        ),
    );
    let run = |message: &str| {
        let arguments = [
            "run",
            "asking.wasm",
            "--resource",
            "jordan",
            "--json",
            "-vv",
            "--message",
            message,
        ];
        let output = folder
            .command(&arguments)
            .env("CRM_TOKEN", SECRET)
            .output()
            .unwrap();
        let told = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{told}");
        assert!(!told.contains(SECRET), "{told}");
        told
    };
    let told = run(&format!("get {url}/"));
    assert!(told.contains("you sent ****"), "{told}");
    assert_eq!(server.requests()[0].header("x-key"), Some(SECRET));
    // The secret is for one server, and the guest cannot send it in its place.
    run(&format!("get {elsewhere}/"));
    assert_eq!(other.requests()[0].header("x-key"), None);
    let told = run(&format!("key {url}/"));
    assert!(!told.contains("mine"), "{told}");
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.header("x-key") != Some("mine"))
    );
    let shown = folder.host(&["ledger", "show", "--json"]).succeeded();
    assert!(!shown.stdout.contains(SECRET));
    assert!(!holds(folder.path(), SECRET.as_bytes()));
}

#[test]
fn a_secret_that_others_can_read_or_that_is_not_there_is_told_before_anything_runs() {
    let server = repeating();
    let url = http(&server);
    let folder = Folder::configured(&format!(
        "[secrets]\nCRM_TOKEN = \"crm.key\"\n[grants.asking]\nhttp = [\"{url}\"]\nsecrets = {{ CRM_TOKEN = \"{url}\" }}\n"
    ));
    asking(
        &folder,
        &format!(
            "http = [\"{url}\"]\nsecrets = {{ CRM_TOKEN = {{ for = \"{url}\", header = \"x-key\" }} }}"
        ),
    );
    let path = folder.write("crm.key", SECRET);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let refused = ask(&folder, "hello").failed(2, &["CRM_TOKEN", "chmod 600"]);
    assert!(!refused.stderr.contains(SECRET));
    assert!(!folder.database().exists());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    ask(&folder, &format!("get {url}/")).succeeded();
    assert_eq!(server.requests()[0].header("x-key"), Some(SECRET));
    fs::write(&path, "short").unwrap();
    ask(&folder, "hello").failed(2, &["CRM_TOKEN", "fewer than 8"]);
    folder.write(
        "host.toml",
        format!("[grants.asking]\nhttp = [\"{url}\"]\nsecrets = {{ CRM_TOKEN = \"{url}\" }}\n"),
    );
    ask(&folder, "hello").failed(2, &["export CRM_TOKEN="]);
}
