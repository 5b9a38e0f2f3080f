//! Rust: cargo, for `wasm32-wasip2`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::project::Project;
use crate::failure::{ExitCode, Failure};

const TARGET: &str = "wasm32-wasip2";

/// Builds the component and gives the file that cargo wrote. Cargo shows its
/// progress and its errors itself, on standard error.
pub(super) fn build(project: &Project) -> Result<PathBuf, Failure> {
    if !target_installed() {
        return Err(Failure::new(
            ExitCode::Other,
            format!(
                "Rust's target {TARGET} is missing, which components are built for: `rustup target add {TARGET}` installs it"
            ),
        ));
    }
    let manifest = project.folder.join("Cargo.toml");
    let mut cargo = Command::new("cargo")
        .args(["build", "--release", "--target", TARGET])
        .args(["--message-format", "json-render-diagnostics"])
        .arg("--manifest-path")
        .arg(&manifest)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| no_cargo(&error))?;
    let messages = cargo.stdout.take().map(BufReader::new);
    let manifest = manifest.canonicalize().unwrap_or(manifest);
    let built = messages
        .into_iter()
        .flat_map(BufRead::lines)
        .map_while(Result::ok)
        .filter_map(|line| component(&line, &manifest))
        .last();
    if !cargo.wait()?.success() {
        return Err(Failure::new(
            ExitCode::Plugin,
            format!(
                "{} does not build; cargo says why above. It builds what `cargo build --release --target {TARGET}` does",
                project.name
            ),
        ));
    }
    built.ok_or_else(|| {
        Failure::new(
            ExitCode::Plugin,
            format!(
                "`{}` builds no component: a plugin's crate needs crate-type = [\"cdylib\", \"rlib\"] under [lib]",
                manifest.display()
            ),
        )
    })
}

/// The component that a message of cargo's tells of, if it is this crate's.
fn component(line: &str, manifest: &Path) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact"
        || Path::new(message["manifest_path"].as_str()?) != manifest
    {
        return None;
    }
    let files = message["filenames"].as_array()?;
    files
        .iter()
        .filter_map(Value::as_str)
        .map(PathBuf::from)
        .find(|file| file.extension().is_some_and(|end| end == "wasm"))
}

/// Whether the target's standard library lies there. Where `rustc` cannot be
/// asked, cargo is left to say what is wrong.
fn target_installed() -> bool {
    let asked = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .output();
    match asked {
        Ok(answer) if answer.status.success() => {
            Path::new(String::from_utf8_lossy(&answer.stdout).trim()).is_dir()
        }
        _ => true,
    }
}

fn no_cargo(error: &std::io::Error) -> Failure {
    let words = if error.kind() == std::io::ErrorKind::NotFound {
        format!(
            "cargo is missing, which builds plugins in Rust: install Rust from https://rustup.rs, then run `rustup target add {TARGET}`"
        )
    } else {
        format!("cargo cannot be run: {error}")
    };
    Failure::new(ExitCode::Other, words)
}
