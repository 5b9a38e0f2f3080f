//! Which servers a plugin's requests may go to, and what they carry there.

use std::sync::Arc;

use keepsake_client::{Credential, Fault, Origin, Redaction};
use keepsake_rights::Server;
use reqwest::header::HeaderName;
use url::Url;

/// What one plugin may reach: nothing, or some servers. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct HttpAccess(Arc<[Arc<Grant>]>);

/// One server, or all below a name.
#[derive(Debug)]
pub(super) struct Grant {
    place: Place,
    /// What goes into its requests.
    pub(super) credentials: Vec<Credential>,
    /// What is taken out of its answers.
    pub(super) redaction: Redaction,
    /// Whether its requests are recorded in the turn's ledger.
    pub(super) recorded: bool,
    pub(super) client: reqwest::Client,
}

#[derive(Debug)]
enum Place {
    /// The server of a provider's `base-url`, wherever it is.
    Origin(Origin),
    Server(Server),
}

impl HttpAccess {
    /// Requests of a provider to one origin, with the key that is for it.
    ///
    /// # Errors
    /// When the machine has no root certificates for a secure connection.
    pub fn to(origin: Origin, credential: Option<Credential>) -> Result<Self, Fault> {
        let client = keepsake_client::client(&origin)?;
        let redaction = credential.as_ref().map(Credential::redaction).cloned();
        Ok(Self(
            [Arc::new(Grant {
                place: Place::Origin(origin),
                credentials: credential.into_iter().collect(),
                redaction: redaction.unwrap_or_default(),
                recorded: false,
                client,
            })]
            .into(),
        ))
    }

    /// Requests to these servers; those of an agent are `recorded`, each in its
    /// turn's ledger. A secret goes to its own server only, and is taken out of the answers of
    /// all. Names that stand for private addresses are not connected to, but for
    /// `private_hosts` and servers that are named as this machine.
    ///
    /// # Errors
    /// As [`HttpAccess::to`].
    pub fn granted(
        servers: &[Server],
        private_hosts: &[String],
        secrets: Vec<(Server, Credential)>,
        recorded: bool,
    ) -> Result<Self, Fault> {
        if servers.is_empty() {
            return Ok(Self::default());
        }
        let encrypted = servers.iter().any(Server::is_encrypted);
        let mut named = private_hosts.to_vec();
        named.extend(
            servers
                .iter()
                .filter(|server| server.is_this_machine())
                .map(Server::host),
        );
        let client = keepsake_client::guarded_client(encrypted, named)?;
        let redaction = secrets
            .iter()
            .fold(Redaction::default(), |all, (_, secret)| {
                all.and(secret.redaction())
            });
        // Servers with a secret come first: one below a name has a grant of its
        // own, and the first that covers a request is taken.
        let with_secrets = secrets.iter().map(|(server, _)| server);
        let mut places: Vec<&Server> = Vec::new();
        for server in with_secrets.chain(servers) {
            if !places.contains(&server) {
                places.push(server);
            }
        }
        let grants = places.into_iter().map(|server| {
            Arc::new(Grant {
                place: Place::Server(server.clone()),
                credentials: secrets
                    .iter()
                    .filter(|(for_server, _)| for_server == server)
                    .map(|(_, secret)| secret.clone())
                    .collect(),
                redaction: redaction.clone(),
                recorded,
                client: client.clone(),
            })
        });
        Ok(Self(grants.collect()))
    }

    /// This access and that one.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&*other.0).cloned().collect())
    }

    /// The grant that covers a request to this address, if any does.
    pub(super) fn covering(&self, uri: &http::Uri) -> Option<Arc<Grant>> {
        let text = uri.to_string();
        let url = Url::parse(&text).ok()?;
        let origin = Origin::of(&text).ok()?;
        let covers = |grant: &&Arc<Grant>| match &grant.place {
            Place::Origin(granted) => *granted == origin,
            Place::Server(server) => server.takes(&url),
        };
        self.0.iter().find(covers).map(Arc::clone)
    }

    /// The headers that only the host sets.
    pub(super) fn headers(&self) -> Vec<HeaderName> {
        let credentials = self.0.iter().flat_map(|grant| &grant.credentials);
        credentials
            .map(|credential| credential.header().clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(access: &HttpAccess, uri: &str) -> Option<Arc<Grant>> {
        access.covering(&uri.parse().unwrap())
    }

    #[test]
    fn only_the_granted_origin_is_covered() {
        let origin = Origin::of("http://127.0.0.1:8080/v1").unwrap();
        let granted = HttpAccess::to(origin, None).unwrap();
        assert!(covered(&granted, "http://127.0.0.1:8080/v1/embeddings").is_some());
        for other in [
            "http://127.0.0.1:8081/v1/embeddings",
            "https://127.0.0.1:8080/v1/embeddings",
            "http://127.0.0.1/v1",
            "http://localhost:8080/v1",
            "http://127.0.0.1:8080@evil.example/",
            "http://user@127.0.0.1:8080/",
            "/v1/embeddings",
        ] {
            assert!(covered(&granted, other).is_none(), "{other}");
        }
        assert!(covered(&HttpAccess::default(), "http://127.0.0.1:8080/").is_none());
    }

    #[test]
    fn a_secret_goes_to_its_own_server_and_is_looked_for_in_all_answers() {
        let server = |text: &str| text.parse::<Server>().unwrap();
        let secret = Credential::new("T", "secret-123456", None).unwrap();
        // Loopback needs no root certificates.
        let granted = HttpAccess::granted(
            &[server("http://127.0.0.1:1"), server("http://127.0.0.1:2")],
            &[],
            vec![(server("http://127.0.0.1:2"), secret)],
            true,
        )
        .unwrap();
        let other = covered(&granted, "http://127.0.0.1:1/").unwrap();
        assert!(other.credentials.is_empty() && !other.redaction.is_empty());
        let own = covered(&granted, "http://127.0.0.1:2/").unwrap();
        assert_eq!(own.credentials.len(), 1);
        assert!(covered(&granted, "http://127.0.0.1:3/").is_none());
    }
}
