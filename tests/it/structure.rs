//! What must stay true of the source itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Rust files below a folder of the workspace.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "{folder} holds no source");
    found
}

fn dependencies(manifest: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(manifest)).unwrap();
    let table: toml::Table = text.parse().unwrap();
    table
        .get("dependencies")
        .and_then(toml::Value::as_table)
        .map(|table| table.keys().cloned().collect())
        .unwrap_or_default()
}

#[test]
fn dependencies_go_one_way() {
    let layers = [
        ("host/types/Cargo.toml", vec![]),
        ("host/client/Cargo.toml", vec![]),
        ("host/gate/Cargo.toml", vec![]),
        ("host/rights/Cargo.toml", vec!["keepsake-types"]),
        (
            "host/storage/Cargo.toml",
            vec!["keepsake-types", "keepsake-gate"],
        ),
        (
            "host/sandbox/Cargo.toml",
            vec!["keepsake-types", "keepsake-client"],
        ),
        (
            "host/plugin/Cargo.toml",
            vec![
                "keepsake-types",
                "keepsake-client",
                "keepsake-rights",
                "keepsake-storage",
                "keepsake-sandbox",
            ],
        ),
        ("host/builtin/Cargo.toml", vec![]),
        ("host/templates/Cargo.toml", vec![]),
    ];
    for (manifest, allowed) in layers {
        for dependency in dependencies(manifest) {
            if dependency.starts_with("keepsake-") {
                assert!(
                    allowed.contains(&dependency.as_str()),
                    "{manifest} may not depend on {dependency}"
                );
            }
        }
    }
    let only = BTreeMap::from([
        ("rusqlite", "host/storage/Cargo.toml"),
        ("wasmtime", "host/plugin/Cargo.toml"),
        ("wasmtime-wasi", "host/plugin/Cargo.toml"),
        ("wasmtime-wasi-http", "host/plugin/Cargo.toml"),
    ]);
    for manifest in [
        "host/Cargo.toml",
        "host/types/Cargo.toml",
        "host/storage/Cargo.toml",
        "host/sandbox/Cargo.toml",
        "host/plugin/Cargo.toml",
    ] {
        for dependency in dependencies(manifest) {
            if let Some(owner) = only.get(dependency.as_str()) {
                assert_eq!(*owner, manifest, "{manifest} may not use {dependency}");
            }
        }
    }
}

#[test]
fn capabilities_never_use_each_others_views() {
    let folder = root().join("host/plugin/src/capability");
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|end| end != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let own = path.file_stem().unwrap().to_string_lossy().into_owned();
        for sibling in ["log", "memory", "model", "sandbox", "embeddings", "agents"] {
            if sibling == own {
                continue;
            }
            let view = format!("capability::{sibling}::");
            for line in text.lines().filter(|line| line.contains(&view)) {
                assert!(
                    !line.contains("View"),
                    "{} reaches into its neighbour: {line}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn unsafe_code_is_rare_and_reasoned() {
    // File, and how many unsafe blocks it holds.
    let known = BTreeMap::from([
        ("host/plugin/src/cache.rs", 1),
        // Between fork and exec, only system calls are allowed.
        ("host/sandbox/src/local/launch/inherit.rs", 3),
    ]);
    for folder in ["host", "guest-sdk", "plugins", "examples"] {
        for path in sources(folder) {
            let text = fs::read_to_string(&path).unwrap();
            let blocks = text.matches("unsafe {").count();
            let name = path
                .strip_prefix(root())
                .unwrap()
                .to_string_lossy()
                .into_owned();
            let expected = known.get(name.as_str()).copied().unwrap_or(0);
            assert!(
                blocks <= expected,
                "{name} holds {blocks} unsafe blocks; {expected} are known"
            );
            if blocks > 0 {
                assert!(text.contains("// SAFETY:"), "{name} gives no reason");
            }
        }
    }
}

#[test]
fn no_function_of_the_interface_takes_a_resource_name() {
    for interface in ["memory", "session", "sandbox", "agents"] {
        let text = fs::read_to_string(root().join(format!("wit/{interface}.wit"))).unwrap();
        for line in text.lines().filter(|line| line.contains("func(")) {
            let arguments = line
                .split("func(")
                .nth(1)
                .unwrap()
                .split("->")
                .next()
                .unwrap();
            for name in ["resource", "scope", "customer", "team"] {
                assert!(
                    !arguments.contains(&format!("{name}:")),
                    "{interface}.wit lets a guest name a {name}: {line}"
                );
            }
        }
    }
}

#[test]
fn guests_cannot_write_the_ledger() {
    for entry in fs::read_dir(root().join("wit")).unwrap().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap();
        for line in text.lines().filter(|line| line.contains("func(")) {
            let name = line.trim().split(':').next().unwrap();
            assert!(
                !["append", "record", "write-entry", "ledger"].contains(&name),
                "a guest could write the ledger through {line}"
            );
        }
    }
}

#[test]
fn the_top_level_holds_what_it_should() {
    let mut names: Vec<_> = fs::read_dir(root())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.') && name != "target")
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "ARCHITECTURE.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "Cargo.lock",
            "Cargo.toml",
            "LICENSE",
            "Makefile",
            "README.md",
            "deny.toml",
            "docs",
            "examples",
            "guest-sdk",
            "host",
            "plugins",
            "rustfmt.toml",
            "tests",
            "wit",
        ]
    );
}
