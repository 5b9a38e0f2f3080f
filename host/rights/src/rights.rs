//! The one question: what of its wishes does a plugin get, and what is missing?

use crate::grant::Grant;
use crate::manifest::{Capability, Wishes};
use crate::place::{Place, Server};

/// What a plugin gets beyond what every plugin has: what it wishes and was
/// granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Rights {
    /// Where its requests may go.
    pub http: Vec<Server>,
    /// Names that may stand for private addresses.
    pub private_hosts: Vec<String>,
    /// What the host puts into its requests.
    pub secrets: Vec<SecretRight>,
    /// Whether commands in its sandbox reach a network.
    pub sandbox_network: bool,
    /// Interfaces that every plugin has and that were taken from this one.
    pub withheld: Vec<Capability>,
}

impl Rights {
    /// What is left of them for an agent that was started by one with these `outer`
    /// rights: no more than either has.
    #[must_use]
    pub fn within(&self, outer: &Self) -> Self {
        let mut http = Vec::new();
        for (one, other) in [(self, outer), (outer, self)] {
            for server in &one.http {
                if other.http.iter().any(|wider| wider.covers(server)) {
                    add(&mut http, server);
                }
            }
        }
        let has = |secret: &SecretRight| {
            let mut outer = outer.secrets.iter();
            outer.any(|other| other.name == secret.name && other.server == secret.server)
        };
        let withheld = |of: &Capability| self.withheld.contains(of) || outer.withheld.contains(of);
        Self {
            http,
            private_hosts: (self.private_hosts.iter())
                .filter(|host| outer.private_hosts.contains(host))
                .cloned()
                .collect(),
            secrets: self
                .secrets
                .iter()
                .filter(|one| has(one))
                .cloned()
                .collect(),
            sandbox_network: self.sandbox_network && outer.sandbox_network,
            withheld: Capability::ALL.into_iter().filter(withheld).collect(),
        }
    }
}

/// A secret, where it goes, and in which header.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SecretRight {
    /// Its name; its value is nowhere here.
    pub name: String,
    /// The one server that it goes to.
    #[serde(rename = "for")]
    pub server: Server,
    /// The header that holds it alone; none for a bearer token.
    pub header: Option<String>,
}

/// What a plugin wishes and was not granted, as a grant of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing(Grant);

impl Missing {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == Grant::default()
    }

    /// What would grant it.
    #[must_use]
    pub fn grant(&self) -> &Grant {
        &self.0
    }

    /// Each wish in plain words, as what the plugin could do.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let requests = self
            .0
            .http
            .iter()
            .map(|server| format!("send requests to {server}, with anything that it knows"));
        let secrets = self
            .0
            .secrets
            .iter()
            .map(|(name, server)| format!("have your {name} sent to {server}"));
        let network = self
            .0
            .sandbox_network
            .then(|| "run commands in its sandbox that reach the network".to_owned());
        requests.chain(secrets).chain(network).collect()
    }
}

/// Weighs a plugin's wishes against all that its operator granted it.
#[must_use]
pub fn weigh(wishes: &Wishes, grants: &[&Grant]) -> (Rights, Missing) {
    let granted = grants
        .iter()
        .fold(Grant::default(), |all, grant| all.and(grant));
    let mut rights = Rights {
        private_hosts: granted.private_hosts.clone(),
        sandbox_network: wishes.sandbox_network && granted.sandbox_network,
        ..Rights::default()
    };
    let mut missing = Grant {
        sandbox_network: wishes.sandbox_network && !granted.sandbox_network,
        ..Grant::default()
    };
    for place in &wishes.http {
        // The server of `base-url` is granted by that setting.
        let Place::Server(wished) = place else {
            continue;
        };
        if granted.http.iter().any(|server| server.covers(wished)) {
            add(&mut rights.http, wished);
            continue;
        }
        add(&mut missing.http, wished);
        // A part of what it wishes.
        for server in granted.http.iter().filter(|server| wished.covers(server)) {
            add(&mut rights.http, server);
        }
    }
    for (name, secret) in &wishes.secrets {
        if granted.secrets.get(name) == Some(&secret.server) {
            rights.secrets.push(SecretRight {
                name: name.clone(),
                server: secret.server.clone(),
                header: secret.header.clone(),
            });
        } else {
            missing.secrets.insert(name.clone(), secret.server.clone());
        }
    }
    // A secret goes nowhere that requests do not go.
    let reached = rights.http.clone();
    rights
        .secrets
        .retain(|secret| reached.iter().any(|server| server.covers(&secret.server)));
    let left = |capability: &Capability| {
        grants
            .iter()
            .filter_map(|grant| grant.interfaces.as_ref())
            .all(|left| left.contains(capability))
    };
    rights.withheld = Capability::ALL.into_iter().filter(|of| !left(of)).collect();
    let missing = match grants.iter().any(|grant| grant.deny_rest) {
        true => Grant::default(),
        false => missing,
    };
    (rights, Missing(missing))
}

fn add(servers: &mut Vec<Server>, server: &Server) {
    if !servers.contains(server) {
        servers.push(server.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(text: &str) -> Wishes {
        toml::from_str(text).unwrap()
    }

    fn grant(text: &str) -> Grant {
        Grant::read("crm", text.parse().unwrap()).unwrap()
    }

    fn weighed(wished: &str, granted: &str) -> (Rights, Missing) {
        weigh(&wishes(wished), &[&grant(granted)])
    }

    const CRM: &str = "http = [\"https://api.example.com\"]\nsandbox-network = true\nsecrets = { T = { for = \"https://api.example.com\" } }";

    #[test]
    fn what_is_wished_and_granted_is_had_and_nothing_else() {
        let (rights, missing) = weighed(
            CRM,
            "http = [\"https://api.example.com\", \"https://other.example\"]\nsandbox-network = true\nsecrets = { T = \"https://api.example.com\", U = \"https://api.example.com\" }",
        );
        assert!(missing.is_empty());
        assert_eq!(rights.http.len(), 1);
        assert_eq!(rights.secrets.len(), 1);
        assert!(rights.sandbox_network);
        let (rights, missing) =
            weighed("", "http = [\"https://a.example\"]\nsandbox-network = true");
        assert_eq!((rights, missing.is_empty()), (Rights::default(), true));
    }

    #[test]
    fn what_is_wished_and_not_granted_is_missing_and_its_own_grant() {
        let (rights, missing) = weigh(&wishes(CRM), &[]);
        assert_eq!(rights, Rights::default());
        assert_eq!(missing.words().len(), 3);
        let (_, none) = weigh(&wishes(CRM), &[missing.grant()]);
        assert!(none.is_empty());
        // The rest is denied knowingly.
        let (rights, missing) = weighed(CRM, "deny-rest = true");
        assert_eq!((rights, missing.is_empty()), (Rights::default(), true));
    }

    #[test]
    fn a_wide_wish_gets_the_part_that_was_granted() {
        let (rights, missing) = weighed(
            "http = [\"https://*.example.com\"]",
            "http = [\"https://api.example.com\"]",
        );
        assert_eq!(rights.http[0].to_string(), "https://api.example.com");
        assert_eq!(missing.grant().http[0].to_string(), "https://*.example.com");
    }

    #[test]
    fn a_secret_that_is_wished_for_another_server_is_not_granted() {
        let (rights, missing) = weighed(
            "http = [\"https://*.example.com\"]\nsecrets = { T = { for = \"https://evil.example.com\" } }",
            "http = [\"https://*.example.com\"]\nsecrets = { T = \"https://api.example.com\" }",
        );
        assert!(rights.secrets.is_empty());
        assert_eq!(
            missing.grant().secrets["T"].to_string(),
            "https://evil.example.com"
        );
        let (rights, _) = weighed(CRM, "secrets = { T = \"https://api.example.com\" }");
        assert!(rights.secrets.is_empty(), "no request may go there");
    }

    #[test]
    fn an_agent_of_an_agent_has_no_right_that_either_lacks() {
        let all = "http = [\"https://*.example.com\", \"https://other.example\"]\nsandbox-network = true\n";
        let (wide, _) = weighed(
            &format!("{all}secrets = {{ T = {{ for = \"https://api.example.com\" }} }}"),
            &format!(
                "{all}private-hosts = [\"a\", \"b\"]\ninterfaces = [\"memory\", \"model\"]\nsecrets = {{ T = \"https://api.example.com\" }}"
            ),
        );
        let (narrow, _) = weighed(
            "http = [\"https://api.example.com\"]",
            "http = [\"https://api.example.com\"]\nprivate-hosts = [\"b\", \"c\"]\ninterfaces = [\"memory\", \"sandbox\"]",
        );
        let both = wide.within(&narrow);
        assert_eq!(both, narrow.within(&wide));
        assert_eq!(both.http.len(), 1);
        assert_eq!(both.http[0].to_string(), "https://api.example.com");
        assert_eq!(both.private_hosts, ["b"]);
        assert!(both.secrets.is_empty() && !both.sandbox_network);
        assert_eq!(
            both.withheld,
            [
                Capability::Sandbox,
                Capability::Embeddings,
                Capability::Model
            ]
        );
        assert_eq!(wide.within(&wide), wide);
        assert_eq!(wide.within(&Rights::default()).http, []);
    }

    #[test]
    fn an_operator_takes_interfaces_away() {
        let (rights, _) = weighed("", "interfaces = [\"memory\"]");
        assert_eq!(
            rights.withheld,
            [
                Capability::Sandbox,
                Capability::Embeddings,
                Capability::Model
            ]
        );
    }
}
