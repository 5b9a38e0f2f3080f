//! Puts into the host what new plugin projects are made of: the examples, the
//! SDKs and the WIT package, as they lie in the repository.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders and files of the repository that are carried, each with all below it.
const CARRIED: [&str; 25] = [
    "Cargo.lock",
    "examples/echo-model",
    "examples/echo-model-js",
    "examples/echo-model-python",
    "examples/echo-model-ts",
    "examples/hashed-embeddings",
    "examples/hashed-embeddings-js",
    "examples/hashed-embeddings-python",
    "examples/hashed-embeddings-ts",
    "examples/minimal-agent",
    "examples/minimal-agent-js",
    "examples/minimal-agent-python",
    "examples/minimal-agent-ts",
    "guest-sdk/Cargo.toml",
    "guest-sdk/README.md",
    "guest-sdk/js/README.md",
    "guest-sdk/js/build",
    "guest-sdk/js/package.json",
    "guest-sdk/js/src",
    "guest-sdk/python/README.md",
    "guest-sdk/python/keepsake_sdk",
    "guest-sdk/python/pyproject.toml",
    "guest-sdk/src",
    "host/gate",
    "wit",
];

/// What building and testing leaves in a folder.
const LEFT_BEHIND: [&str; 5] = ["dist", "build", "target", "node_modules", "__pycache__"];

/// What the vendored crates inherit from the workspace.
const INHERITED: [&str; 3] = ["package", "dependencies", "lints"];

fn main() {
    let package = PathBuf::from(env("CARGO_MANIFEST_DIR"));
    let root = package.join("../..");
    let mut code = String::from(
        "/// Each file: its path in the repository, and what is in it.\npub(crate) static FILES: &[(&str, &str)] = &[\n",
    );
    let mut carry = |name: &str, path: &Path| {
        let path = path.canonicalize().expect("the file was found just now");
        let _ = writeln!(code, "    ({name:?}, include_str!({path:?})),");
    };
    for folder in CARRIED {
        walk(&root, folder, &mut carry);
    }
    walk(&package, "files", &mut carry);
    code.push_str("];\n");
    let out = PathBuf::from(env("OUT_DIR"));
    fs::write(out.join("files.rs"), code).expect("OUT_DIR can be written");
    fs::write(out.join("workspace.toml"), workspace(&root)).expect("OUT_DIR can be written");
}

/// Hands over each file at or below `name`, in the order of the names.
fn walk(root: &Path, name: &str, carry: &mut impl FnMut(&str, &Path)) {
    let path = root.join(name);
    println!("cargo::rerun-if-changed={}", path.display());
    if path.is_file() {
        return carry(name, &path);
    }
    let mut names: Vec<String> = fs::read_dir(&path)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
        .map(|entry| entry.expect("a folder's entry can be read").file_name())
        .map(|name| {
            name.into_string()
                .expect("names in the repository are UTF-8")
        })
        .filter(|name| !LEFT_BEHIND.contains(&name.as_str()))
        .collect();
    names.sort();
    for child in names {
        walk(root, &format!("{name}/{child}"), carry);
    }
}

/// The manifest of a workspace that holds the vendored crates only.
fn workspace(root: &Path) -> String {
    let path = root.join("Cargo.toml");
    println!("cargo::rerun-if-changed={}", path.display());
    let text = fs::read_to_string(&path).expect("the workspace's manifest can be read");
    let whole: toml::Table = text.parse().expect("the workspace's manifest is TOML");
    let mut workspace = toml::Table::new();
    for key in INHERITED {
        workspace.insert(key.into(), whole["workspace"][key].clone());
    }
    workspace.insert("resolver".into(), whole["workspace"]["resolver"].clone());
    let members = ["guest-sdk", "host/gate"].map(toml::Value::from);
    workspace.insert("members".into(), toml::Value::from(members.to_vec()));
    // Crates of the repository that are not carried are no dependencies here.
    let dependencies = workspace["dependencies"].as_table_mut();
    dependencies
        .expect("dependencies are a table")
        .retain(|_, of| match of.get("path").and_then(toml::Value::as_str) {
            Some(path) => members_hold(path),
            None => true,
        });
    let manifest = toml::Table::from_iter([("workspace".to_owned(), workspace.into())]);
    toml::to_string(&manifest).expect("a table can be written")
}

fn members_hold(path: &str) -> bool {
    ["guest-sdk", "host/gate"].contains(&path)
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
