//! Providers that ask a server: a real one on this machine, over real HTTP.

use serde_json::{Value, json};

use crate::http_server::{Request, Server, answer, events, json as json_answer};
use crate::program::{Folder, Ran, finish_with_input};

/// The key that must turn up in the server's requests and nowhere else.
pub(crate) const KEY: &str = "sk-hunter2-0123456789abcdef";

const UPGRADE: &str = "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.";

/// How a server answers badly.
type BadDay = fn(&Request) -> Vec<u8>;

/// Vectors that are alike where texts share words, as wide as was asked for.
pub(crate) fn embeddings(request: &Request) -> Vec<u8> {
    let asked = request.json();
    let width = asked["dimensions"].as_u64().unwrap_or(16) as usize;
    let data: Vec<Value> = asked["input"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let mut vector = vec![0.0_f32; width];
            let text = text.as_str().unwrap().to_lowercase();
            for word in text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
            {
                let place = word
                    .bytes()
                    .fold(7_usize, |sum, byte| sum * 31 + usize::from(byte));
                vector[place % width] += 1.0;
            }
            json!({ "object": "embedding", "index": index, "embedding": vector })
        })
        // Servers do not promise an order.
        .rev()
        .collect();
    json_answer(&json!({ "object": "list", "model": "m", "data": data }))
}

fn piece(delta: &Value, reason: Option<&str>) -> String {
    format!(
        "data: {}\n\n",
        json!({
            "id": "c-1", "object": "chat.completion.chunk", "model": "big-model",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }],
        })
    )
}

pub(crate) fn said(text: &str) -> Vec<u8> {
    let (first, last) = text.split_at(text.len() / 2);
    let body = [
        ": keep-alive\n\n".to_owned(),
        piece(&json!({ "role": "assistant", "content": first }), None),
        piece(&json!({ "content": last }), None),
        piece(&json!({}), Some("stop")),
        "data: [DONE]\n\n".to_owned(),
    ];
    events(&body.concat())
}

fn configured(server: &str, more: &str) -> Folder {
    Folder::configured(&format!(
        "model = \"model-openai\"\n\
         [settings.model-openai]\nbase-url = {server:?}\nmodel = \"big-model\"\n\
         key-variable = \"TEST_PROVIDER_KEY\"\ntimeout-seconds = 5\n{more}"
    ))
}

fn ask(folder: &Folder, message: &str) -> Ran {
    let mut command = folder.command(&[
        "run",
        "support-agent",
        "--resource",
        "jordan",
        "--sandbox",
        "none",
        "-m",
        message,
    ]);
    command.env("TEST_PROVIDER_KEY", KEY);
    crate::program::finish(command.spawn().unwrap())
}

/// Everything that a run left behind, as one text.
fn left_behind(folder: &Folder) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder.path().join(".keepsake")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    text
}

#[test]
fn an_answer_of_a_server_reaches_the_customer_with_the_key_only_in_the_request() {
    let server = Server::start(|_, _| said("Good day, how can I help?"));
    let folder = configured(&server.url(), "");
    let ran = ask(&folder, "Hello").succeeded();
    assert_eq!(ran.stdout.trim(), "Good day, how can I help?");

    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert_eq!(
        requests[0].header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    let asked = requests[0].json();
    assert_eq!(asked["model"], "big-model");
    assert_eq!(asked["stream"], true);
    assert!(
        asked["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty())
    );

    // Nor with all that can be logged.
    let mut command = folder.command(&[
        "run",
        "support-agent",
        "--resource",
        "jordan",
        "--sandbox",
        "none",
        "-vv",
        "-m",
        "Hello",
    ]);
    command
        .env("TEST_PROVIDER_KEY", KEY)
        .env("RUST_LOG", "trace");
    let logged = crate::program::finish(command.spawn().unwrap()).succeeded();
    assert!(logged.stderr.contains("TRACE"), "nothing was logged");

    let shown = [
        ran.stdout,
        ran.stderr,
        logged.stderr,
        folder.host(&["ledger", "show", "--json"]).stdout,
        left_behind(&folder),
    ];
    for text in shown {
        assert!(!text.contains("hunter2"), "the key was left in {text}");
    }
}

#[test]
fn a_tool_that_a_server_calls_for_is_run_and_its_fact_is_remembered() {
    let server = Server::start(|request, _| {
        let messages = request.json()["messages"].clone();
        let answered = messages
            .as_array()
            .unwrap()
            .iter()
            .any(|message| message["role"] == "tool");
        if answered {
            return said("Noted: you are on the Pro plan.");
        }
        let call = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| {
            piece(
                &json!({ "tool_calls": [{
                    "index": index, "id": id, "type": "function",
                    "function": { "name": name, "arguments": arguments },
                }]}),
                None,
            )
        };
        let body = [
            call(0, Some("call-a"), Some("update_profile"), "{\"patch\":"),
            call(
                1,
                Some("call-b"),
                Some("remember_fact"),
                "{\"content\":\"Jordan is on ",
            ),
            call(0, None, None, "{\"plan\":\"Pro\"}}"),
            call(1, None, None, "the Pro plan.\"}"),
            piece(&json!({}), Some("tool_calls")),
            "data: [DONE]\n\n".to_owned(),
        ];
        events(&body.concat())
    });
    let folder = configured(&server.url(), "");
    let ran = ask(&folder, UPGRADE).succeeded();
    assert!(
        ran.stdout.contains("Noted: you are on the Pro plan."),
        "{ran:?}"
    );
    let facts = folder.facts("jordan");
    assert_eq!(facts[0]["content"], "Jordan is on the Pro plan.");
    let list = folder
        .host(&["memory", "list", "--resource", "jordan", "--json"])
        .succeeded()
        .json();
    assert_eq!(list["profile"]["plan"], "Pro");
}

#[test]
fn embeddings_of_a_server_are_kept_and_recalled_by() {
    let server = Server::start(|request, _| embeddings(request));
    let folder = Folder::configured(&format!(
        "embeddings = \"embed-openai\"\n[settings.embed-openai]\nbase-url = {:?}\nmodel = \"small\"\ninput-type = true\n",
        server.url()
    ));
    let ran = folder.say("support-agent", UPGRADE, &["--resource", "jordan"]);
    ran.succeeded();
    let found = folder.recalled_by_vectors("on the Pro plan", &[]);
    assert!(found[0].contains("Pro plan"), "{found:?}");
    let kinds: Vec<_> = server
        .requests()
        .iter()
        .map(|request| {
            request.json()["input_type"]
                .as_str()
                .unwrap_or("-")
                .to_owned()
        })
        .collect();
    assert!(kinds.contains(&"query".to_owned()), "{kinds:?}");
    assert!(kinds.contains(&"passage".to_owned()), "{kinds:?}");
    // No key was asked for, so none was sent.
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
}

#[test]
fn a_bad_day_of_a_server_costs_a_reply_and_not_the_conversation() {
    let days: [(&str, &str, BadDay); 8] = [
        ("a wrong key", "401", |_| {
            answer(
                "401 Unauthorized",
                "application/json",
                r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#,
            )
        }),
        ("a page of HTML", "502", |_| {
            answer(
                "502 Bad Gateway",
                "text/html",
                "<html><h1>Bad Gateway</h1></html>",
            )
        }),
        ("half an object", "", |_| {
            answer("200 OK", "application/json", "{\"choices\": [{\"mess")
        }),
        ("an error within a stream", "overloaded", |_| {
            events("data: {\"error\":{\"message\":\"the model is overloaded\"}}\n\n")
        }),
        ("a stream that is cut", "", |_| {
            events(&piece(
                &json!({ "role": "assistant", "content": "I was say" }),
                None,
            ))
        }),
        ("a redirect to another host", "", |_| {
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/steal\r\nContent-Length: 0\r\n\r\n"
                .to_vec()
        }),
        ("headers without end", "", |_| {
            let mut head = b"HTTP/1.1 200 OK\r\nx: ".to_vec();
            head.resize(10 << 20, b'a');
            head
        }),
        ("nothing at all", "", |_| Vec::new()),
    ];
    for (day, told, badly) in days {
        let server = Server::start(move |request, _| {
            let last = request.json()["messages"]
                .as_array()
                .and_then(|messages| messages.last().cloned())
                .unwrap_or_default();
            if last["content"]
                .as_str()
                .is_some_and(|text| text.contains("again"))
            {
                said("Here I am.")
            } else {
                badly(request)
            }
        });
        let folder = configured(&server.url(), "");
        let mut command = folder.command(&[
            "run",
            "support-agent",
            "--resource",
            "jordan",
            "--sandbox",
            "none",
        ]);
        command.env("TEST_PROVIDER_KEY", KEY);
        let ran = finish_with_input(command, b"Hello\nHello again\n");
        // A message that got no reply is told at the end.
        assert_eq!(ran.code, Some(4), "{day}: {ran:?}");
        assert!(ran.stdout.contains("Here I am."), "{day}: {ran:?}");
        assert!(ran.stderr.contains("error: "), "{day}: {ran:?}");
        assert!(ran.stderr.contains(told), "{day}: {ran:?}");
        assert!(!ran.stderr.contains("hunter2"), "{day}: {ran:?}");
        folder.host(&["ledger", "verify"]).succeeded();
    }
}

#[test]
fn a_server_that_is_not_there_is_told_with_what_to_check() {
    let folder = configured("http://127.0.0.1:1/v1", "");
    let ran = ask(&folder, "Hello");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("refuse"), "{ran:?}");
}

#[test]
fn a_server_without_tls_where_tls_was_asked_for_is_told() {
    let server = Server::start(|_, _| said("in the clear"));
    let folder = configured(&server.url().replace("http:", "https:"), "");
    let ran = ask(&folder, "Hello");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr.contains("TLS") || ran.stderr.contains("secure"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("in the clear"));
}

#[test]
fn a_key_that_is_not_set_is_named_before_anything_runs() {
    let server = Server::start(|_, _| said("never"));
    let folder = configured(&server.url(), "");
    let ran = folder.say("support-agent", "Hello", &["--resource", "jordan"]);
    ran.failed(2, &["TEST_PROVIDER_KEY", "export TEST_PROVIDER_KEY="]);
    assert!(server.requests().is_empty());
    assert!(!folder.path().join(".keepsake").exists());
}

#[test]
fn the_example_for_nvidia_needs_its_key_and_nothing_else() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/nvidia/host.toml");
    let folder = Folder::new();
    let run = |key: Option<&str>| {
        let mut command = folder.command(&[
            "run",
            "support-agent",
            "--resource",
            "jordan",
            "--sandbox",
            "none",
            "-m",
            "Hello",
            "--config",
            config,
            "--data",
            "data",
        ]);
        command.env_remove("NVIDIA_API_KEY");
        if let Some(key) = key {
            // Nothing of this machine reaches the real server.
            command
                .env("NVIDIA_API_KEY", key)
                .env("HTTPS_PROXY", "http://127.0.0.1:1");
        }
        crate::program::finish(command.spawn().unwrap())
    };
    run(None).failed(2, &["NVIDIA_API_KEY", "export NVIDIA_API_KEY="]);
    let ran = run(Some(KEY));
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("integrate.api.nvidia.com"), "{ran:?}");
    assert!(!ran.stderr.contains("hunter2"), "{ran:?}");
}

#[test]
fn a_busy_server_is_asked_again() {
    let server = Server::start(|_, number| {
        if number == 0 {
            return b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
        }
        said("Now I have time.")
    });
    let folder = configured(&server.url(), "");
    assert!(
        ask(&folder, "Hello")
            .succeeded()
            .stdout
            .contains("Now I have time.")
    );
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn vectors_of_another_model_of_the_server_are_not_compared_with_yesterdays() {
    let server = Server::start(|request, _| embeddings(request));
    let folder = Folder::new();
    let with_model = |model: &str, width: u32| {
        folder.write(
            "host.toml",
            format!(
                "embeddings = \"embed-openai\"\n[settings.embed-openai]\nbase-url = {:?}\nmodel = {model:?}\ndimensions = {width}\n",
                server.url()
            ),
        );
    };
    with_model("yesterday", 16);
    folder
        .say("support-agent", UPGRADE, &["--resource", "jordan"])
        .succeeded();
    with_model("today", 8);
    let ran = folder.say(
        "support-agent",
        "Which plan am I on?",
        &["--resource", "jordan"],
    );
    let ran = ran.succeeded();
    assert!(
        ran.stdout.contains("Pro plan"),
        "words still find it: {ran:?}"
    );
    assert!(
        ran.stderr.contains("host memory reindex --resource jordan"),
        "{ran:?}"
    );
    folder
        .host(&["memory", "reindex", "--resource", "jordan"])
        .succeeded();
    let found = folder.recalled_by_vectors("Pro plan", &[]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_key_that_a_server_repeats_never_enters_the_guest() {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("Bearer {KEY}"));
    let kept = encoded[12..encoded.len() - 4].to_owned();
    let server = Server::start(move |_, number| {
        match number {
        // Cut anywhere by the events that it comes in.
        0 => said(&format!("Your key is {KEY}, or {encoded}.")),
        1 => answer(
            "401 Unauthorized",
            "application/json",
            &json!({ "error": { "message": format!("{KEY} is no key"), "code": KEY } }).to_string(),
        ),
        _ => format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: /v1?key={KEY}\r\nContent-Length: 0\r\n\r\n"
        )
        .into_bytes(),
    }
    });
    let folder = configured(&server.url(), "");
    let mut shown = Vec::new();
    for _ in 0..3 {
        let ran = ask(&folder, "Hello");
        shown.extend([ran.stdout, ran.stderr]);
    }
    assert!(shown[0].contains("Your key is ***"), "{shown:?}");
    shown.push(folder.host(&["ledger", "show", "--json"]).stdout);
    shown.push(left_behind(&folder));
    for text in shown {
        assert!(!text.contains("hunter2"), "the key was left in {text}");
        assert!(!text.contains(&kept), "the key was left in {text}");
    }
}

#[test]
fn an_answer_that_is_packed_unasked_is_refused_where_a_key_is_sent() {
    let server = Server::start(|_, _| {
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"
            .to_vec()
    });
    let folder = configured(&server.url(), "");
    assert_eq!(ask(&folder, "Hello").code, Some(4));
    let requests = server.requests();
    assert_eq!(requests[0].header("accept-encoding"), Some("identity"));
}

#[test]
fn an_embedding_server_that_is_away_at_the_start_costs_vectors_and_nothing_else() {
    let configuration = |url: &str| {
        format!(
            "embeddings = \"embed-openai\"\n[settings.embed-openai]\nbase-url = {url:?}\nmodel = \"small\"\ntimeout-seconds = 5\n"
        )
    };
    let folder = Folder::configured(&configuration("http://127.0.0.1:1/v1"));
    let ran = folder.say("support-agent", UPGRADE, &["--resource", "jordan"]);
    let ran = ran.succeeded();
    assert!(
        ran.stderr
            .contains("note: the plugin \"embed-openai\" cannot say what it is now")
            && ran
                .stderr
                .contains("until it answers, facts are remembered"),
        "{ran:#?}"
    );
    let facts = folder.facts("jordan").len();
    assert!(facts > 0);
    let again = folder.say(
        "support-agent",
        "Which plan am I on?",
        &["--resource", "jordan"],
    );
    assert!(again.succeeded().stdout.contains("Pro"));
    // The server is back: what has no vectors yet gets them.
    let server = Server::start(|request, _| embeddings(request));
    folder.write("host.toml", configuration(&server.url()));
    let back = folder.say(
        "support-agent",
        "Which plan am I on?",
        &["--resource", "jordan"],
    );
    let back = back.succeeded();
    assert!(!back.stderr.contains("until it answers"), "{back:#?}");
    assert!(
        !folder
            .recalled_by_vectors("on the Pro plan", &[])
            .is_empty()
    );
}

#[test]
fn an_embedding_provider_with_wrong_settings_is_still_told_before_the_first_turn() {
    let folder = Folder::configured("embeddings = \"embed-openai\"\n");
    let ran = folder.say("support-agent", "Hello", &["--resource", "jordan"]);
    ran.failed(3, &["base-url", "[settings.embed-openai]"]);
    assert!(!folder.path().join(".keepsake").exists());
}
