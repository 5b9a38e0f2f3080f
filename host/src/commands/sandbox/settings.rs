//! What `host sandbox init` writes: the server's own configuration, and the
//! lines of `host.toml` that point to it.

use std::fs;
use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, Value, value};

use super::server::cannot;
use crate::cli::InitArguments;
use crate::failure::{ExitCode, Failure};

/// The server's configuration.
pub(super) fn server_toml(arguments: &InitArguments, key: &str, store: &Path) -> String {
    let mut document = DocumentMut::new();
    let mut section = |name: &str, members: Vec<(&str, Item)>| {
        let mut table = Table::new();
        for (key, item) in members {
            table.insert(key, item);
        }
        document.insert(name, Item::Table(table));
    };
    section(
        "server",
        vec![
            ("host", value("127.0.0.1")),
            ("port", value(i64::from(arguments.port))),
            ("api_key", value(key)),
            ("max_sandbox_timeout_seconds", value(86_400)),
        ],
    );
    section(
        "runtime",
        vec![
            ("type", value("docker")),
            ("execd_image", value(&arguments.execd_image)),
        ],
    );
    section(
        "store",
        vec![
            ("type", value("sqlite")),
            ("path", value(store.display().to_string())),
        ],
    );
    section(
        "docker",
        vec![
            ("network_mode", value("bridge")),
            ("publish_host", value("127.0.0.1")),
            ("port_range_min", value(40_000)),
            ("port_range_max", value(60_000)),
            ("no_new_privileges", value(true)),
            ("pids_limit", value(4_096)),
        ],
    );
    section("ingress", vec![("mode", value("direct"))]);
    if !arguments.no_egress {
        section(
            "egress",
            vec![
                ("image", value(&arguments.egress_image)),
                ("mode", value("dns")),
            ],
        );
    }
    format!("# Written by `host sandbox init`.\n{document}")
}

/// What `host.toml` is to say.
pub(super) struct Wanted<'a> {
    pub(super) url: &'a str,
    pub(super) key_file: &'a Path,
    pub(super) image: &'a str,
    pub(super) enforce_network: bool,
}

/// Puts the backend into `host.toml`, which keeps its other lines and comments.
/// Answers whether anything changed.
pub(super) fn write_host_toml(path: &Path, wanted: &Wanted<'_>) -> Result<bool, Failure> {
    let before = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot("read", path, &error)),
    };
    let after = host_toml(&before, wanted)
        .map_err(|reason| Failure::new(ExitCode::Usage, format!("{}: {reason}", path.display())))?;
    if after == before {
        return Ok(false);
    }
    fs::write(path, after).map_err(|error| cannot("write", path, &error))?;
    Ok(true)
}

fn host_toml(before: &str, wanted: &Wanted<'_>) -> Result<String, String> {
    let mut document: DocumentMut = before.parse().map_err(|error| format!("{error}"))?;
    let sandbox = table_in(document.as_table_mut(), "sandbox")?;
    set(sandbox, "backend", "opensandbox".into());
    let server = table_in(sandbox, "opensandbox")?;
    set(server, "url", wanted.url.into());
    set(
        server,
        "key-file",
        wanted.key_file.display().to_string().into(),
    );
    set(server, "image", wanted.image.into());
    if !wanted.enforce_network {
        set(server, "enforce-network", false.into());
    }
    Ok(document.to_string())
}

/// Sets a value and keeps a line that says the same already, with its comment.
fn set(table: &mut Table, key: &str, wanted: Value) {
    let plain = |value: &Value| value.clone().decorated("", "").to_string();
    let known = table.get(key).and_then(Item::as_value);
    if known.map(plain) != Some(plain(&wanted)) {
        table.insert(key, Item::Value(wanted));
    }
}

fn table_in<'a>(table: &'a mut Table, key: &str) -> Result<&'a mut Table, String> {
    table
        .entry(key)
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_mut()
        .ok_or_else(|| format!("`{key}` is no table: write `[{key}]` and its keys below it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted<'static> {
        Wanted {
            url: "http://127.0.0.1:8080",
            key_file: Path::new(".keepsake/opensandbox/key"),
            image: "debian:stable-slim",
            enforce_network: true,
        }
    }

    #[test]
    fn an_absent_file_gets_the_lines_that_are_needed() {
        let text = host_toml("", &wanted()).unwrap();
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["sandbox"]["backend"].as_str(), Some("opensandbox"));
        let server = &table["sandbox"]["opensandbox"];
        assert_eq!(
            server["key-file"].as_str(),
            Some(".keepsake/opensandbox/key")
        );
        assert!(server.get("enforce-network").is_none());
    }

    #[test]
    fn other_lines_and_comments_stay_and_a_second_time_changes_nothing() {
        let before =
            "# mine\ndata = \"d\" # here\n\n[sandbox]\nbackend = \"local\"\ncommand-seconds = 5\n";
        let once = host_toml(before, &wanted()).unwrap();
        for kept in ["# mine", "data = \"d\" # here", "command-seconds = 5"] {
            assert!(once.contains(kept), "{once}");
        }
        assert!(!once.contains("\"local\""), "{once}");
        assert_eq!(host_toml(&once, &wanted()).unwrap(), once);
        let own = once.replace("debian:stable-slim\"", "debian:stable-slim\" # mine");
        assert_eq!(host_toml(&own, &wanted()).unwrap(), own);
    }

    #[test]
    fn a_table_that_is_none_is_told() {
        let told = host_toml("sandbox = 3\n", &wanted()).unwrap_err();
        assert!(told.contains("[sandbox]"), "{told}");
    }
}
