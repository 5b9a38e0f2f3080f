//! Where a sandbox's daemon is reached, and with which headers.

use keepsake_types::limits::SANDBOX_ENDPOINT_HEADERS;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::execd::{Execd, PORT};
use super::failure::{Failure, clean};
use super::lifecycle::Lifecycle;
use super::options::{KEY_HEADER, OpenSandboxOptions};
use crate::SandboxError;

/// Finds the daemon of a sandbox.
pub(super) async fn find(
    lifecycle: &Lifecycle,
    options: &OpenSandboxOptions,
    id: &str,
) -> Result<Execd, SandboxError> {
    let relayed = options.use_server_proxy;
    let told = lifecycle.endpoint(id, PORT, relayed).await?;
    let odd = |reason: String| Failure::malformed("find out where the sandbox is reached", reason);
    let mut headers = HeaderMap::new();
    let asked = told.headers.unwrap_or_default();
    if asked.len() > SANDBOX_ENDPOINT_HEADERS {
        return Err(odd(format!("it asks for {} headers", asked.len())).into());
    }
    for (name, value) in &asked {
        // The far end shares a container with untrusted commands.
        if name.eq_ignore_ascii_case(KEY_HEADER) {
            continue;
        }
        let header = name.parse::<HeaderName>().ok();
        let value = HeaderValue::from_str(value).ok();
        let (Some(name), Some(mut value)) = (header, value) else {
            return Err(odd(format!(
                "it asks for the impossible header `{}`",
                clean(name)
            ))
            .into());
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    if let Some(token) = &options.execd_token {
        token.apply(&mut headers);
    }
    let base = if relayed {
        // By the address that is set here: it is known to be reached, and it
        // is the only one that may be sent the key.
        headers.extend(lifecycle.own_headers().clone());
        lifecycle.relay(id, PORT)
    } else {
        address(&told.endpoint, options.endpoint_tls).map_err(odd)?
    };
    Ok(Execd {
        transport: lifecycle.transport.clone(),
        base,
        headers,
    })
}

/// Where a sandbox's daemon is, from what the server says.
fn address(endpoint: &str, tls: bool) -> Result<String, String> {
    let full = if endpoint.contains("://") {
        endpoint.to_owned()
    } else {
        format!("{}://{endpoint}", if tls { "https" } else { "http" })
    };
    let url = url::Url::parse(&full)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let Some(url) = url else {
        return Err(format!("`{}` is no address", clean(endpoint)));
    };
    if url.query().is_some() || !url.username().is_empty() || url.password().is_some() {
        return Err(format!(
            "the address `{}` holds more than a host and a path",
            clean(endpoint)
        ));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_keeps_its_path_and_gets_a_scheme() {
        for (endpoint, tls, expected) in [
            (
                "127.0.0.1:40794/proxy/44772",
                false,
                "http://127.0.0.1:40794/proxy/44772",
            ),
            ("host:44772", true, "https://host:44772"),
            ("https://gate/x/", false, "https://gate/x"),
        ] {
            assert_eq!(address(endpoint, tls).unwrap(), expected);
        }
        for endpoint in ["", "file:///etc/passwd", "user:word@host:1", "host/?a=b"] {
            assert!(address(endpoint, false).is_err(), "{endpoint}");
        }
    }
}
