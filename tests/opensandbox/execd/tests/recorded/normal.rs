//! What differs from run to run, and what may not.

use crate::exchange::Exchange;
use crate::http::Answer;
use crate::program::Program;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};

/// Fields that hold a time, a duration or a measurement. That they are there is
/// compared, and their kind, not their value.
const VARYING: [&str; 9] = [
    "timestamp",
    "started_at",
    "finished_at",
    "modified_at",
    "created_at",
    "cpu_count",
    "cpu_used_pct",
    "mem_total_mib",
    "mem_used_mib",
];

/// Headers that are compared by value.
const COMPARED: [&str; 9] = [
    "accept-ranges",
    "cache-control",
    "content-disposition",
    "content-range",
    "content-type",
    "execd-commands-tail-cursor",
    "transfer-encoding",
    "x-accel-buffering",
    "x-content-type-options",
];

/// What the recordings call by other names than this run.
pub(crate) struct Names {
    /// As recorded, and here.
    pairs: Vec<(String, String)>,
}

impl Names {
    pub(crate) fn new(program: &Program) -> Self {
        let home = std::env::var("HOME").expect("a home");
        let scratch = program.scratch().display().to_string();
        let pair = |recorded: &str, here: String| (recorded.to_owned(), here);
        Self {
            pairs: vec![
                pair("filename=\"work\"", "filename=\"data\"".to_owned()),
                pair("/data", format!("{scratch}/data")),
                pair("/tmp/survived", format!("{scratch}/tmp/survived")),
                pair("/opt/opensandbox/.env", format!("{scratch}/env")),
                pair("/root", home),
            ],
        }
    }

    /// A recorded path's place in this run.
    pub(crate) fn scratch(&self, recorded: &str) -> String {
        String::from_utf8(self.here(recorded.as_bytes())).expect("a path")
    }

    /// From now on, a recorded id is this one.
    pub(crate) fn same(&mut self, recorded: &str, here: String) {
        self.pairs.push((recorded.to_owned(), here));
    }

    /// Takes the id of a command that was just started.
    pub(crate) fn learn(&mut self, exchange: &Exchange, here: String) {
        if let Some(recorded) = stream_id(&exchange.response.bytes()) {
            self.same(&recorded, here);
        }
    }

    /// A recorded request, to be sent in this run.
    pub(crate) fn request(&self, exchange: &Exchange) -> Request<Full<Bytes>> {
        let recorded = exchange.request.as_ref().expect("a recorded request");
        let path = String::from_utf8(self.here(recorded.path.as_bytes())).expect("a path");
        let mut request = Request::builder()
            .method(recorded.method.as_str())
            .uri(path)
            .header("Host", "sandbox");
        for (name, value) in &recorded.headers {
            request = request.header(name, value);
        }
        let body = self.here(&recorded.bytes());
        request.body(Full::from(body)).expect("a request")
    }

    /// All in which an answer is not the recorded one.
    pub(crate) fn differences(&self, exchange: &Exchange, answer: &Answer) -> Vec<String> {
        let recorded = &exchange.response;
        let mut differences = Vec::new();
        let mut differ = |what: &str, expected: String, found: String| {
            if expected != found {
                differences.push(format!(
                    "{what}\n  recorded: {expected}\n  answered: {found}"
                ));
            }
        };
        differ(
            "status",
            recorded.status.to_string(),
            answer.status.to_string(),
        );
        let recorded_header = |name: &str| {
            let mut headers = recorded.headers.iter();
            let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| {
                String::from_utf8_lossy(&self.here(value.as_bytes())).into_owned()
            })
        };
        let header = |name: &str| {
            let value = answer.headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        for name in COMPARED {
            let (expected, found) = (recorded_header(name), header(name));
            differ(name, format!("{expected:?}"), format!("{found:?}"));
        }
        // A date cannot be the same, a length only where no name differs.
        for name in ["content-length", "last-modified"] {
            let (expected, found) = (recorded_header(name), header(name));
            differ(
                name,
                expected.is_some().to_string(),
                found.is_some().to_string(),
            );
        }
        let bytes = recorded.bytes();
        let promised = |length: Option<String>, body: &[u8]| {
            length.is_some_and(|length| length != body.len().to_string())
        };
        let broken = promised(recorded_header("content-length"), &bytes);
        let found = promised(header("content-length"), answer.body());
        differ("a length that lies", broken.to_string(), found.to_string());
        differ("a body cut off", broken.to_string(), answer.cut.to_string());
        if broken {
            let (expected, found) = (recorded_header("content-length"), header("content-length"));
            differ(
                "content-length",
                format!("{expected:?}"),
                format!("{found:?}"),
            );
        }
        let kind = recorded_header("content-type").unwrap_or_default();
        let here = self.here(&bytes);
        differ(
            "body",
            readable(&kind, &here),
            readable(&kind, answer.body()),
        );
        differences
    }

    /// Bytes of a recording, with the names of this run.
    fn here(&self, recorded: &[u8]) -> Vec<u8> {
        let mut bytes = recorded.to_vec();
        for (from, to) in &self.pairs {
            let (from, to) = (from.as_bytes(), to.as_bytes());
            let mut at = 0;
            while let Some(found) = position(&bytes[at..], from) {
                bytes.splice(at + found..at + found + from.len(), to.iter().copied());
                // Behind what was put there, which may hold the same name.
                at += found + to.len();
            }
        }
        bytes
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

/// A body in a form in which equal means the same.
fn readable(kind: &str, body: &[u8]) -> String {
    if kind.starts_with("text/event-stream") {
        return events(body).join("\n");
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(mut value) if kind.starts_with("application/json") => {
            blur(&mut value);
            value.to_string()
        }
        _ => format!("{:?}", String::from_utf8_lossy(body)),
    }
}

/// The id in the first event of a stream.
pub(crate) fn stream_id(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let first: Value = serde_json::from_str(text.split("\n\n").next()?).ok()?;
    (first["type"] == "init").then(|| first["text"].as_str().map(str::to_owned))?
}

/// The events of a stream, each as text.
///
/// Standard output and error have no order between them, so they stand one
/// after the other. How many pings come is a matter of time: after the first
/// they are left out. Measurements, told by single lines, are as many as the
/// time allowed; two are compared.
pub(crate) fn events(body: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(body);
    let blank = text.contains("\n\n");
    let mut events: Vec<Value> = text
        .split(if blank { "\n\n" } else { "\n" })
        .filter(|event| !event.is_empty())
        .map(|event| {
            serde_json::from_str(event)
                .unwrap_or_else(|error| panic!("{event:?} is no event: {error}"))
        })
        .collect();
    if !blank {
        events.truncate(2);
    }
    let mut pings = 0;
    events.retain(|event| {
        pings += usize::from(event["type"] == "ping");
        event["type"] != "ping" || pings == 1
    });
    let is_output = |event: &Value| event["type"] == "stdout" || event["type"] == "stderr";
    for run in events.chunk_by_mut(|one, next| is_output(one) && is_output(next)) {
        run.sort_by_key(|event| event["type"].to_string());
    }
    for event in &mut events {
        if event["type"] == "init" {
            event["text"] = json!("(id)");
        }
        if let Some(fields) = event.as_object_mut() {
            // Left out where it is less than a millisecond.
            fields.remove("execution_time");
        }
        blur(event);
    }
    let mut events: Vec<String> = events.iter().map(Value::to_string).collect();
    events.insert(0, format!("told apart by a blank line: {blank}"));
    events
}

/// Puts a word for what varies: a number or a time, but not something else.
fn blur(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let directory = fields.get("type") == Some(&json!("directory"));
            for (name, field) in fields {
                let varies = VARYING.contains(&name.as_str());
                if varies && field.is_number() {
                    *field = json!("(number)");
                } else if varies && is_time(field) {
                    *field = json!("(time)");
                } else if directory && name == "size" {
                    // A matter of the file system.
                    *field = json!("(size)");
                } else {
                    blur(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(blur),
        _ => {}
    }
}

fn is_time(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| humantime::parse_rfc3339(text).is_ok())
}
