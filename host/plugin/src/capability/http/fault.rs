//! A client's fault in the words of `wasi:http`.

use keepsake_client::Fault;
use wasmtime_wasi_http::Error;

pub(super) fn told(fault: &Fault) -> Error {
    match fault {
        Fault::Name => Error::DnsError {
            rcode: None,
            info_code: None,
        },
        Fault::NotPublic(_) => Error::DestinationIpProhibited,
        Fault::Refused => Error::ConnectionRefused,
        Fault::Unreachable(_) => Error::DestinationUnavailable,
        Fault::Tls(_) => Error::TlsCertificateError,
        Fault::TimedOut => Error::ConnectionTimeout,
        Fault::BrokeOff => Error::ConnectionTerminated,
        _ => Error::HttpProtocolError,
    }
}
