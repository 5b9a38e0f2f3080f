//! A server with a certificate that is not right: the error names the host and
//! what is wrong, and the conversation goes on.
//!
//! The certificates in `tls/` are for these tests alone: of an authority that
//! nobody trusts unless it is told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::program::{Folder, Ran, finish_with_input};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/it/tls")
        .join(name)
}

/// A server on this machine with this certificate, which answers everything
/// alike. Gives its port.
fn serve(certificate: &str, answer: &'static str) -> u16 {
    let chain = vec![CertificateDer::from(
        std::fs::read(file(certificate)).unwrap(),
    )];
    let key = PrivateKeyDer::try_from(std::fs::read(file("server.key.der")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            thread::spawn(move || talk(StreamOwned::new(connection, stream), answer));
        }
    });
    port
}

/// Whoever does not trust the certificate hangs up, which is no matter here.
fn talk(stream: impl Read + Write, answer: &str) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok()?;
            }
            Some(_) => {}
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    let stream = reader.get_mut();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(answer.as_bytes()).ok()?;
    stream.flush().ok()
}

const CHAT: &str = r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Good day."}}]}"#;

/// Two messages to an agent whose model is asked at that port, by someone who
/// trusts the test's authority or the system's.
fn conversation(port: u16, trusting: bool) -> Ran {
    let folder = Folder::configured(&format!(
        "model = \"model-openai\"\n[settings.model-openai]\nbase-url = \"https://localhost:{port}/v1\"\n\
         model = \"m\"\nstream = false\ntimeout-seconds = 5\n"
    ));
    let mut command = folder.command(&[
        "run",
        "support-agent",
        "--resource",
        "jordan",
        "--sandbox",
        "none",
        "--json",
    ]);
    if trusting {
        command.env("SSL_CERT_FILE", file("authority.pem"));
    }
    finish_with_input(command, b"Hello\nAre you there?\n")
}

#[test]
fn a_certificate_that_is_not_right_is_told_and_the_conversation_survives() {
    for (certificate, trusting, wrong) in [
        ("sound.der", false, "UnknownIssuer"),
        ("another-name.der", true, "another.example"),
        ("expired.der", true, "expired"),
    ] {
        let port = serve(certificate, CHAT);
        let ran = conversation(port, trusting);
        let replies: Vec<_> = ran.stdout.lines().collect();
        assert_eq!(replies.len(), 2, "{certificate}: {ran:#?}");
        assert_eq!(ran.code, Some(4), "{certificate}: {ran:#?}");
        for reply in replies {
            let reply: serde_json::Value = serde_json::from_str(reply).unwrap();
            let error = reply["error"]["message"].as_str().unwrap();
            assert!(
                error.contains(&format!("https://localhost:{port}")),
                "{error}"
            );
        }
        let origin = format!("https://localhost:{port}");
        let told = ran.stderr.lines().find(|line| line.contains(&origin));
        let told = told.unwrap_or_else(|| panic!("{certificate}: {ran:#?}"));
        assert!(told.contains(wrong), "{certificate}: {told}");
    }
}

#[test]
fn a_certificate_of_a_trusted_authority_is_accepted() {
    let ran = conversation(serve("sound.der", CHAT), true).succeeded();
    let replies = ran.stdout.matches(r#""reply":"Good day.""#);
    assert_eq!(replies.count(), 2, "{ran:#?}");
}

#[test]
fn an_opensandbox_server_with_a_wrong_certificate_is_named() {
    for (certificate, trusting, wrong) in [
        ("sound.der", false, "UnknownIssuer"),
        ("another-name.der", true, "another.example"),
        ("expired.der", true, "expired"),
    ] {
        let port = serve(certificate, r#"{"items":[]}"#);
        let folder = Folder::configured(&format!(
            "[sandbox]\nbackend = \"opensandbox\"\n[sandbox.opensandbox]\nurl = \"https://localhost:{port}\"\n"
        ));
        let mut command = folder.command(&["sandbox", "list"]);
        if trusting {
            command.env("SSL_CERT_FILE", file("authority.pem"));
        }
        let ran = finish_with_input(command, b"");
        assert_ne!(ran.code, Some(0), "{certificate}: {ran:#?}");
        assert!(
            ran.stderr.contains(&format!("https://localhost:{port}")),
            "{ran:#?}"
        );
        assert!(ran.stderr.contains(wrong), "{certificate}: {ran:#?}");
    }
}
