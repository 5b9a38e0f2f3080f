//! Which addresses are on the internet, and a look-up that gives no others: a
//! name that someone else answers for must not lead into the operator's network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// A name that stands for no address on the internet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` stands for an address of this machine or of a private network")]
pub struct NotPublic(
    /// The name.
    pub String,
);

/// Looks names up and gives public addresses only.
pub(crate) struct PublicOnly {
    private_hosts: Arc<[String]>,
}

impl PublicOnly {
    /// But for these names, which may stand for anything.
    pub(crate) fn new(private_hosts: Vec<String>) -> Self {
        Self {
            private_hosts: private_hosts.into(),
        }
    }
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let private_hosts = Arc::clone(&self.private_hosts);
        Box::pin(async move {
            let name = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
            let any = private_hosts.iter().any(|host| host == name);
            let given: Vec<_> = found
                .iter()
                .copied()
                .filter(|address| any || is_public(address.ip()))
                .collect();
            if given.is_empty() && !found.is_empty() {
                return Err(NotPublic(name.to_owned()).into());
            }
            Ok(Box::new(given.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is one on the internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let kept = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        // Shared by the customers of a provider.
        || (a == 100 && (64..128).contains(&b))
        || (a, b, c) == (192, 0, 0)
        // For measuring networks.
        || (a == 198 && (b == 18 || b == 19))
        // Reserved, and the broadcast.
        || a >= 240;
    !kept
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let parts = address.segments();
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Translated to IPv4, and carried in it.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => inner(high, low),
        // Teredo, documentation, and what else has a purpose of its own there.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        // All that is given out for the internet.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_disguise() {
        let public = |text: &str| is_public(IpAddr::from_str(text).unwrap());
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "::127.0.0.1",
        ] {
            assert!(!public(text), "{text}");
        }
        for text in [
            "93.184.216.34",
            "1.1.1.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ] {
            assert!(public(text), "{text}");
        }
    }

    #[tokio::test]
    async fn a_name_that_points_into_the_machine_is_not_connected_to() {
        let asked = |private: &[&str]| {
            let resolver = PublicOnly::new(private.iter().map(|name| (*name).to_owned()).collect());
            resolver.resolve(Name::from_str("localhost").unwrap())
        };
        let Err(error) = asked(&[]).await else {
            panic!("it was resolved");
        };
        assert!(error.to_string().contains("private network"), "{error}");
        assert!(asked(&["localhost"]).await.unwrap().next().is_some());
    }
}
