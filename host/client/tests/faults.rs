//! What goes wrong on a real network, and how it is told.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use keepsake_client::{Fault, Origin, client};

/// Answers each connection with these bytes after it has read something.
fn server(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
        }
    });
    format!("127.0.0.1:{port}")
}

async fn fault(url: &str) -> Fault {
    let client = client(&Origin::of(url).unwrap()).unwrap();
    let asked = client.get(url).timeout(Duration::from_secs(5)).send().await;
    match asked {
        Err(error) => Fault::of(&error),
        Ok(response) => Fault::of(&response.bytes().await.unwrap_err()),
    }
}

#[tokio::test]
async fn a_port_where_nobody_listens_refuses() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let fault = fault(&format!("http://127.0.0.1:{port}")).await;
    assert_eq!(fault, Fault::Refused);
    assert!(fault.is_before_request());
}

#[tokio::test]
async fn a_name_that_nobody_has_is_told_apart() {
    assert_eq!(fault("http://nobody.invalid").await, Fault::Name);
}

#[tokio::test]
async fn a_server_without_tls_is_no_secure_one() {
    let place = server(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let fault = fault(&format!("https://{place}")).await;
    assert!(matches!(fault, Fault::Tls(_)), "{fault:?}");
}

#[tokio::test]
async fn a_server_that_hangs_up_on_tls_is_no_secure_one() {
    let place = server(b"");
    let fault = fault(&format!("https://{place}")).await;
    assert!(matches!(fault, Fault::Tls(_)), "{fault:?}");
}

#[tokio::test]
async fn half_an_answer_is_a_broken_connection() {
    let place = server(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    let fault = fault(&format!("http://{place}")).await;
    assert_eq!(fault, Fault::BrokeOff);
    assert!(!fault.is_before_request());
}

#[tokio::test]
async fn no_answer_at_all_is_a_broken_connection() {
    let place = server(b"");
    assert_eq!(fault(&format!("http://{place}")).await, Fault::BrokeOff);
}

#[tokio::test]
async fn what_is_no_http_is_told() {
    let place = server(b"SSH-2.0-OpenSSH_9.2\r\n");
    let fault = fault(&format!("http://{place}")).await;
    assert!(matches!(fault, Fault::Protocol(_)), "{fault:?}");
}

#[tokio::test]
async fn endless_headers_are_refused() {
    let mut answer = b"HTTP/1.1 200 OK\r\nx: ".to_vec();
    answer.resize(10 << 20, b'a');
    let place = server(answer.leak());
    let fault = fault(&format!("http://{place}")).await;
    assert!(
        matches!(fault, Fault::Protocol(_) | Fault::BrokeOff),
        "{fault:?}"
    );
}

#[tokio::test]
async fn silence_is_a_time_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let client = client(&Origin::of(&url).unwrap()).unwrap();
    let error = client
        .get(&url)
        .timeout(Duration::from_millis(200))
        .send()
        .await
        .unwrap_err();
    assert_eq!(Fault::of(&error), Fault::TimedOut);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let place =
        server(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    let url = format!("http://{place}");
    let client = client(&Origin::of(&url).unwrap()).unwrap();
    assert_eq!(client.get(&url).send().await.unwrap().status(), 302);
}
