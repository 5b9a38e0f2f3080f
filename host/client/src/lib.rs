//! How this host speaks HTTP to others: where a request may go, which
//! credential it carries there, and what went wrong.
//!
//! Redirects are never followed: a credential is for one origin, and an answer
//! from another one is not what was asked for.

mod credential;
mod fault;
mod origin;
mod public;
mod redaction;

use std::sync::Arc;
use std::time::Duration;

pub use credential::{Credential, CredentialError};
pub use fault::Fault;
pub use origin::{Origin, OriginError};
pub use public::{NotPublic, is_public};
pub use redaction::{RedactedStream, Redaction, SHORTEST_REDACTED_KEY};

/// How long to wait for a connection, TLS included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an idle connection is kept for the next request.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A client for one origin. Proxies of the environment (`HTTPS_PROXY` and its
/// like) are used, except towards this machine itself.
///
/// # Errors
/// [`Fault::Tls`] when there are no root certificates to trust.
pub fn client(origin: &Origin) -> Result<reqwest::Client, Fault> {
    client_for(origin.is_encrypted(), origin.is_this_machine())
}

/// A client for several origins: `encrypted` if any of them speaks TLS, and
/// `near` if all of them are this machine, which no proxy reaches.
///
/// # Errors
/// As [`client`].
pub fn client_for(encrypted: bool, near: bool) -> Result<reqwest::Client, Fault> {
    let mut builder = builder();
    if near {
        builder = builder.no_proxy();
    }
    if encrypted {
        // A second call finds the provider installed, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    } else {
        builder = builder.tls_backend_preconfigured(without_trust());
    }
    builder.build().map_err(|error| Fault::of(&error))
}

/// A client for servers on the internet: a name that stands for an address of
/// this machine or of a private network is not connected to, but for the names in
/// `private_hosts`. No proxy is used, since it would look the names up itself.
///
/// # Errors
/// As [`client`].
pub fn guarded_client(
    encrypted: bool,
    private_hosts: Vec<String>,
) -> Result<reqwest::Client, Fault> {
    let mut builder = builder()
        .no_proxy()
        .dns_resolver(Arc::new(public::PublicOnly::new(private_hosts)));
    if encrypted {
        let _ = rustls::crypto::ring::default_provider().install_default();
    } else {
        builder = builder.tls_backend_preconfigured(without_trust());
    }
    builder.build().map_err(|error| Fault::of(&error))
}

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!("keepsake/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
}

/// TLS that trusts nobody, for clients that need none: reading the system's
/// certificates takes longer than a request.
fn without_trust() -> rustls::ClientConfig {
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring offers the default versions of TLS")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}
