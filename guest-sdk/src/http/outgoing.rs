//! Requests through the host, by `wasi:http`.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, SystemTime};

use ::http::header::CONTENT_LENGTH;
use ::http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, StatusCode};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use wasip2::io::streams::{InputStream, StreamError};

use super::error::{HttpError, HttpErrorKind};
use super::request::Request;
use super::{Chunks, Received, Transport};

/// How many bytes of a body are written at once: what `wasi:io` takes.
const WRITE_BYTES: usize = 4_096;
/// How many bytes of a body are read at once.
const READ_BYTES: u64 = 64 * 1_024;

/// The host as what carries requests.
pub(crate) struct Outgoing;

impl Transport for Outgoing {
    fn send(&self, request: &Request) -> Result<Received, HttpError> {
        let to = request.origin();
        let (message, body) = prepared(request)?;
        let options = RequestOptions::new();
        let time = request.time();
        // A host that knows no such bound has its own.
        let _ = options.set_connect_timeout(Some(nanoseconds(time.connect)));
        let _ = options.set_first_byte_timeout(Some(nanoseconds(time.first_byte)));
        let _ = options.set_between_bytes_timeout(Some(nanoseconds(time.between_bytes)));
        let answer = handle(message, Some(options)).map_err(|code| failed(&to, code))?;
        // Written after the request is on its way, since the host takes only so
        // much of a body before it sends. A failure is not told from here: the
        // answer, or why there is none, says more than a closed pipe.
        let _ = write(body, request.body_bytes());
        let pollable = answer.subscribe();
        pollable.block();
        drop(pollable);
        let odd = || HttpError::new(HttpErrorKind::Other, &to, "the host gave no answer");
        let response = answer
            .get()
            .ok_or_else(odd)?
            .map_err(|()| odd())?
            .map_err(|code| failed(&to, code))?;
        received(&to, &response)
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn random(&self) -> f64 {
        // The seed that maps get is random enough for spreading waits.
        let bits = RandomState::new().build_hasher().finish();
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn prepared(request: &Request) -> Result<(OutgoingRequest, OutgoingBody), HttpError> {
    let invalid = |what: &str| HttpError::new(HttpErrorKind::Invalid, request.origin(), what);
    let mut entries: Vec<(String, Vec<u8>)> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
        .collect();
    // Without it the body goes out in chunks, which not every server reads.
    let length = request.body_bytes().len();
    if length > 0 || request.method() == HttpMethod::POST {
        entries.push((CONTENT_LENGTH.to_string(), length.to_string().into_bytes()));
    }
    let headers = Fields::from_list(&entries)
        .map_err(|error| invalid(&format!("the host does not take its headers: {error:?}")))?;
    let message = OutgoingRequest::new(headers);
    let uri = request.uri();
    let scheme = match uri.scheme_str() {
        Some("http") => Scheme::Http,
        _ => Scheme::Https,
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    message
        .set_method(&method(request.method()))
        .and_then(|()| message.set_scheme(Some(&scheme)))
        .and_then(|()| message.set_authority(uri.authority().map(|name| name.as_str())))
        .and_then(|()| message.set_path_with_query(Some(path)))
        .map_err(|()| invalid("the host does not take its method or address"))?;
    let body = message
        .body()
        .map_err(|()| invalid("the host gives it no body"))?;
    Ok((message, body))
}

fn method(method: &HttpMethod) -> Method {
    match method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), StreamError> {
    {
        let stream = body.write().map_err(|()| StreamError::Closed)?;
        for chunk in bytes.chunks(WRITE_BYTES) {
            stream.blocking_write_and_flush(chunk)?;
        }
    }
    OutgoingBody::finish(body, None).map_err(|_| StreamError::Closed)
}

fn received(to: &str, response: &IncomingResponse) -> Result<Received, HttpError> {
    let protocol = |what: &str| HttpError::new(HttpErrorKind::Protocol, to, what);
    let status = StatusCode::from_u16(response.status())
        .map_err(|_| protocol("its status is none of HTTP"))?;
    let mut headers = HeaderMap::new();
    for (name, value) in response.headers().entries() {
        // A header that cannot be read is as good as none.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(&value))
        {
            headers.append(name, value);
        }
    }
    let gone = |()| protocol("its body is not there");
    let body = response.consume().map_err(gone)?;
    let stream = body.stream().map_err(gone)?;
    Ok(Received {
        status,
        headers,
        chunks: Box::new(Incoming {
            stream: Some(stream),
            _body: body,
            to: to.to_owned(),
        }),
    })
}

/// A body on its way from the host.
struct Incoming {
    /// None after the end. Before `_body`, which must outlive it.
    stream: Option<InputStream>,
    _body: IncomingBody,
    to: String,
}

impl Chunks for Incoming {
    fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        let Some(stream) = &self.stream else {
            return Ok(None);
        };
        match stream.blocking_read(READ_BYTES) {
            Ok(chunk) => Ok(Some(chunk)),
            Err(StreamError::Closed) => {
                self.stream = None;
                Ok(None)
            }
            Err(StreamError::LastOperationFailed(error)) => {
                let failure = match http_error_code(&error) {
                    Some(code) => failed(&self.to, code),
                    None => {
                        let detail = error.to_debug_string();
                        HttpError::new(HttpErrorKind::BrokenOff, &self.to, detail)
                    }
                };
                // It must be gone before the stream that it came of.
                drop(error);
                self.stream = None;
                Err(failure)
            }
        }
    }
}

fn failed(to: &str, code: ErrorCode) -> HttpError {
    let kind = match &code {
        ErrorCode::DnsTimeout | ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => {
            HttpErrorKind::Dns
        }
        ErrorCode::ConnectionRefused => HttpErrorKind::Refused,
        ErrorCode::ConnectionTimeout
        | ErrorCode::DestinationUnavailable
        | ErrorCode::DestinationIpUnroutable => HttpErrorKind::Unreachable,
        ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => HttpErrorKind::TimedOut,
        ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => HttpErrorKind::Denied,
        ErrorCode::TlsProtocolError
        | ErrorCode::TlsCertificateError
        | ErrorCode::TlsAlertReceived(_) => HttpErrorKind::Tls,
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => {
            HttpErrorKind::BrokenOff
        }
        ErrorCode::HttpResponseHeaderSectionSize(_)
        | ErrorCode::HttpResponseHeaderSize(_)
        | ErrorCode::HttpResponseBodySize(_)
        | ErrorCode::HttpResponseTrailerSectionSize(_)
        | ErrorCode::HttpResponseTrailerSize(_) => HttpErrorKind::TooLarge,
        ErrorCode::HttpProtocolError
        | ErrorCode::HttpResponseTransferCoding(_)
        | ErrorCode::HttpResponseContentCoding(_)
        | ErrorCode::HttpUpgradeFailed => HttpErrorKind::Protocol,
        ErrorCode::HttpRequestLengthRequired
        | ErrorCode::HttpRequestBodySize(_)
        | ErrorCode::HttpRequestMethodInvalid
        | ErrorCode::HttpRequestUriInvalid
        | ErrorCode::HttpRequestUriTooLong
        | ErrorCode::HttpRequestHeaderSectionSize(_)
        | ErrorCode::HttpRequestHeaderSize(_)
        | ErrorCode::HttpRequestTrailerSectionSize(_)
        | ErrorCode::HttpRequestTrailerSize(_) => HttpErrorKind::Invalid,
        ErrorCode::ConnectionLimitReached
        | ErrorCode::LoopDetected
        | ErrorCode::ConfigurationError
        | ErrorCode::InternalError(_) => HttpErrorKind::Other,
    };
    HttpError::new(kind, to, said_of(&code))
}

/// What an error says beyond its kind, without the form of Rust's debug output
/// where it is a text of the host's.
fn said_of(code: &ErrorCode) -> String {
    match code {
        ErrorCode::InternalError(text) => text.clone().unwrap_or_default(),
        ErrorCode::DnsError(payload) => payload.rcode.clone().unwrap_or_default(),
        ErrorCode::TlsAlertReceived(payload) => payload.alert_message.clone().unwrap_or_default(),
        ErrorCode::HttpRequestDenied | ErrorCode::ConnectionRefused => String::new(),
        other => other
            .to_string()
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}
