//! The server that makes and removes sandboxes.

use std::time::{Duration, SystemTime};

use keepsake_client::Credential;
use keepsake_types::limits::{SANDBOX_ANSWER_BYTES, SANDBOX_LISTING, SANDBOX_LOG_BYTES};
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::failure::Failure;
use super::transport::{ANSWER_TIMEOUT, Answer, Call, Transport};
use super::wire::{
    Diagnostics, Endpoint, Page, SandboxRecord, SnapshotPage, SnapshotRecord, Version,
};
use crate::SandboxError;

/// The most that one page of a listing holds.
const PAGE: usize = 200;
/// How long pausing, resuming and deleting may take.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(120);
/// Where the server asks for a file's address, its size is not ours to bound;
/// an address of a log is told, not fetched.
const LOG_SCOPE: &str = "container";

/// The server that makes and removes sandboxes.
#[derive(Clone)]
pub(super) struct Lifecycle {
    pub(super) transport: Transport,
    /// Without a slash at the end.
    base: String,
    headers: HeaderMap,
}

impl Lifecycle {
    pub(super) fn new(
        transport: Transport,
        url: &str,
        key: Option<&Credential>,
    ) -> Result<Self, SandboxError> {
        let parsed = url::Url::parse(url).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none()
        });
        let Some(parsed) = parsed else {
            return Err(SandboxError::invalid(
                "the address of the OpenSandbox server must be like `http://127.0.0.1:8080`",
            ));
        };
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(SandboxError::invalid(
                "the address of the OpenSandbox server must hold no user or password; give the \
                 API key as the key",
            ));
        }
        let base = parsed.as_str().trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base).to_owned();
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            key.apply(&mut headers);
        }
        Ok(Self {
            transport,
            base,
            headers,
        })
    }

    /// The headers for this server. They must go nowhere else.
    pub(super) fn own_headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Where the server relays to a port of a sandbox.
    pub(super) fn relay(&self, id: &str, port: u16) -> String {
        format!("{}/v1/sandboxes/{id}/proxy/{port}", self.base)
    }

    async fn call(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<Answer, Failure> {
        let url = format!("{}{path}", self.base);
        self.transport
            .send(Call {
                what,
                method,
                url: &url,
                headers: &self.headers,
                query,
                body,
                timeout,
                limit: SANDBOX_ANSWER_BYTES,
            })
            .await
    }

    async fn get(
        &self,
        what: &'static str,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Answer, Failure> {
        self.call(what, Method::GET, path, query, None, ANSWER_TIMEOUT)
            .await
    }

    /// Whether the server works, and its version.
    pub(super) async fn version(&self) -> Result<String, Failure> {
        let what = "ask the OpenSandbox server how it is";
        let health: Value = self.get(what, "/health", &[]).await?.json(what)?;
        if health["status"] != "healthy" {
            return Err(Failure::malformed(
                what,
                "it does not say that it is healthy",
            ));
        }
        let what = "ask the OpenSandbox server for its version";
        match self.get(what, "/version", &[]).await {
            Ok(answer) => Ok(super::failure::clean(
                &answer.json::<Version>(what)?.version,
            )),
            // Older ones do not tell.
            Err(failure) if failure.is_missing() => Ok("of an unknown version".into()),
            Err(failure) => Err(failure),
        }
    }

    /// Makes a sandbox. The server answers when it runs, which can take long.
    pub(super) async fn create(
        &self,
        order: &Value,
        timeout: Duration,
    ) -> Result<SandboxRecord, Failure> {
        let what = "make a sandbox";
        let path = "/v1/sandboxes";
        self.call(what, Method::POST, path, &[], Some(order), timeout)
            .await?
            .json(what)
    }

    pub(super) async fn sandbox(&self, id: &str) -> Result<SandboxRecord, Failure> {
        let what = "look at the sandbox";
        self.get(what, &format!("/v1/sandboxes/{id}"), &[])
            .await?
            .json(what)
    }

    /// All sandboxes with a label.
    pub(super) async fn labelled(
        &self,
        name: &str,
        value: &str,
    ) -> Result<Vec<SandboxRecord>, Failure> {
        let what = "list the sandboxes";
        // One text of the form of a query, which is encoded once more.
        let label = format!("{name}={value}");
        let mut found = Vec::new();
        for page in 1.. {
            let number = page.to_string();
            let size = PAGE.to_string();
            let query = [
                ("metadata", label.as_str()),
                ("page", &number),
                ("pageSize", &size),
            ];
            let page: Page = self.get(what, "/v1/sandboxes", &query).await?.json(what)?;
            let last = page.items.is_empty() || !page.pagination.has_next_page;
            found.extend(page.items);
            if found.len() > SANDBOX_LISTING {
                tracing::warn!(SANDBOX_LISTING, "there are more sandboxes than are listed");
                found.truncate(SANDBOX_LISTING);
                break;
            }
            if last {
                break;
            }
        }
        Ok(found)
    }

    /// Deletes a sandbox, and answers whether it was there.
    pub(super) async fn delete(&self, id: &str) -> Result<bool, Failure> {
        self.remove("delete the sandbox", &format!("/v1/sandboxes/{id}"))
            .await
    }

    async fn remove(&self, what: &'static str, path: &str) -> Result<bool, Failure> {
        let done = self
            .call(what, Method::DELETE, path, &[], None, CHANGE_TIMEOUT)
            .await;
        match done {
            Ok(_) => Ok(true),
            Err(failure) if failure.is_missing() => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Sets when the server removes a sandbox.
    pub(super) async fn renew(&self, id: &str, until: SystemTime) -> Result<(), Failure> {
        let what = "prolong the sandbox";
        let body = json!({ "expiresAt": humantime::format_rfc3339_seconds(until).to_string() });
        let path = format!("/v1/sandboxes/{id}/renew-expiration");
        self.call(what, Method::POST, &path, &[], Some(&body), ANSWER_TIMEOUT)
            .await
            .map(|_| ())
    }

    /// Stops all that runs in a sandbox. Its time to live goes on.
    pub(super) async fn pause(&self, id: &str) -> Result<(), Failure> {
        self.change("pause the sandbox", id, "pause", "Paused")
            .await
    }

    /// Lets a paused sandbox go on.
    pub(super) async fn resume(&self, id: &str) -> Result<(), Failure> {
        self.change("resume the sandbox", id, "resume", "Running")
            .await
    }

    async fn change(
        &self,
        what: &'static str,
        id: &str,
        verb: &str,
        wanted: &str,
    ) -> Result<(), Failure> {
        let path = format!("/v1/sandboxes/{id}/{verb}");
        let done = self
            .call(what, Method::POST, &path, &[], None, CHANGE_TIMEOUT)
            .await;
        match done {
            Err(failure) if failure.status() == Some(409) || failure.is_lost() => {
                // It may be so already: an answer that was lost, or a second call.
                match self.sandbox(id).await {
                    Ok(record) if record.status.state == wanted => Ok(()),
                    _ => Err(failure),
                }
            }
            other => other.map(|_| ()),
        }
    }

    /// Where a port of a sandbox is reached.
    pub(super) async fn endpoint(
        &self,
        id: &str,
        port: u16,
        relayed: bool,
    ) -> Result<Endpoint, Failure> {
        let what = "find out where the sandbox is reached";
        let query: &[_] = if relayed {
            &[("use_server_proxy", "true")]
        } else {
            &[]
        };
        self.get(what, &format!("/v1/sandboxes/{id}/endpoints/{port}"), query)
            .await?
            .json(what)
    }

    /// Begins to copy a sandbox.
    pub(super) async fn snapshot(&self, id: &str, name: &str) -> Result<SnapshotRecord, Failure> {
        let what = "make a checkpoint of the sandbox";
        let body = json!({ "name": name });
        let path = format!("/v1/sandboxes/{id}/snapshots");
        self.call(what, Method::POST, &path, &[], Some(&body), CHANGE_TIMEOUT)
            .await?
            .json(what)
    }

    /// The copy of a sandbox that has this name, where there is one.
    pub(super) async fn snapshot_named(
        &self,
        id: &str,
        name: &str,
    ) -> Result<Option<SnapshotRecord>, Failure> {
        let what = "look for the checkpoint";
        for page in 1..=SANDBOX_LISTING / PAGE {
            let (number, size) = (page.to_string(), PAGE.to_string());
            // Older servers do not know the filter by name and let it pass.
            let query = [
                ("sandboxId", id),
                ("name", name),
                ("page", &number),
                ("pageSize", &size),
            ];
            let page: SnapshotPage = self.get(what, "/v1/snapshots", &query).await?.json(what)?;
            let last = page.items.is_empty() || !page.pagination.has_next_page;
            let mut items = page.items.into_iter();
            let found = items.find(|record| record.name.as_deref() == Some(name));
            if found.is_some() || last {
                return Ok(found);
            }
        }
        Ok(None)
    }

    pub(super) async fn snapshot_state(&self, id: &str) -> Result<SnapshotRecord, Failure> {
        let what = "look at the checkpoint";
        self.get(what, &format!("/v1/snapshots/{id}"), &[])
            .await?
            .json(what)
    }

    pub(super) async fn delete_snapshot(&self, id: &str) -> Result<bool, Failure> {
        self.remove("delete the checkpoint", &format!("/v1/snapshots/{id}"))
            .await
    }

    /// What a sandbox's first command and its daemon printed.
    pub(super) async fn logs(&self, id: &str) -> Result<String, Failure> {
        let what = "read the sandbox's log";
        let path = format!("/v1/sandboxes/{id}/diagnostics/logs");
        let answer = self.get(what, &path, &[("scope", LOG_SCOPE)]).await?;
        let told: Diagnostics = answer.json(what)?;
        let Some(mut text) = told.content else {
            let place = super::failure::clean(&told.content_url.unwrap_or_default());
            return Err(Failure::malformed(
                what,
                format!("the server keeps it elsewhere; fetch it at `{place}`"),
            ));
        };
        if text.len() > SANDBOX_LOG_BYTES {
            let mut from = text.len() - SANDBOX_LOG_BYTES;
            while !text.is_char_boundary(from) {
                from += 1;
            }
            text.drain(..from);
        }
        Ok(text)
    }
}
