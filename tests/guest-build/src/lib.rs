//! Builds guest crates of this workspace to components, from within a build
//! script.
//!
//! The shipped plugins and the test guests are ordinary members of the
//! workspace. A build script calls cargo a second time for them, in a target
//! folder of its own: the outer cargo holds the lock of the usual one.

use std::path::{Path, PathBuf};
use std::process::Command;

use keepsake_rights::{MANIFEST_FILE, Manifest};

/// The target that guests are built for.
const TARGET: &str = "wasm32-wasip2";

/// A guest to build: its package's name.
pub type Package<'a> = &'a str;

/// Builds the packages and gives the path of each component, in order. Rebuilds
/// when anything in `watched` (relative to the workspace) changes.
///
/// # Panics
/// When cargo or the target is missing or a guest does not compile; a build
/// script has no other way to say so.
pub fn build_guests(packages: &[Package<'_>], watched: &[&str]) -> Vec<PathBuf> {
    let root = workspace_root();
    for path in watched.iter().chain(&["wit", "guest-sdk", "Cargo.toml"]) {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    let target = target_folder();
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(&root)
        .args(["build", "--release", "--target", TARGET])
        .arg("--target-dir")
        .arg(&target);
    for package in packages {
        cargo.args(["--package", package]);
    }
    // Names stay, so that backtraces can be read; the standard library's debug
    // information goes, which would make each component four times as large.
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    cargo.env("CARGO_PROFILE_RELEASE_STRIP", "debuginfo");
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "true");
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
    // Vector instructions, which every wasmtime has: embedding a text takes
    // half as long with them.
    cargo.env(
        "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS",
        "-Ctarget-feature=+simd128",
    );
    // What the outer build sets for the machine's own target.
    for variable in [
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
        "CARGO_INCREMENTAL",
        "CARGO_MAKEFLAGS",
        "MAKEFLAGS",
    ] {
        cargo.env_remove(variable);
    }
    let status = cargo
        .status()
        .unwrap_or_else(|error| panic!("cargo cannot be run for the guests: {error}"));
    assert!(
        status.success(),
        "the guests do not build for {TARGET}; if the target is missing, run `rustup target add {TARGET}`"
    );
    packages
        .iter()
        .map(|package| {
            let file = format!("{}.wasm", package.replace('-', "_"));
            let built = target.join(TARGET).join("release").join(&file);
            match manifest(&root, package) {
                Some(manifest) => with_manifest(&built, &file, &manifest),
                None => built,
            }
        })
        .collect()
}

/// The manifest of a guest; test guests may have none.
fn manifest(root: &Path, package: &str) -> Option<PathBuf> {
    ["plugins", "examples", "tests/guests"]
        .iter()
        .map(|folder| root.join(folder).join(package).join(MANIFEST_FILE))
        .find(|manifest| manifest.is_file())
}

/// The component with its manifest in it, as `host build` makes it, in `OUT_DIR`.
fn with_manifest(built: &Path, file: &str, manifest: &Path) -> PathBuf {
    let text = std::fs::read_to_string(manifest)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", manifest.display()));
    if let Err(error) = Manifest::parse(&text) {
        panic!("{} is wrong: {error}", manifest.display());
    }
    let wasm = std::fs::read(built)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", built.display()));
    let path = Path::new(&variable("OUT_DIR")).join(file);
    std::fs::write(&path, keepsake_rights::embed(&wasm, &text))
        .unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
    path
}

/// Writes `pub const NAME: &str = "path";` style Rust code into `OUT_DIR`.
///
/// # Panics
/// When the file cannot be written.
pub fn write_generated(file: &str, code: &str) {
    let path = Path::new(&variable("OUT_DIR")).join(file);
    std::fs::write(&path, code)
        .unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
}

fn workspace_root() -> PathBuf {
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    package
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file())
        .map(Path::to_path_buf)
        .unwrap_or_else(|| panic!("there is no Cargo.lock above {}", package.display()))
}

/// `target/guests`, beside the folder of the profile that is being built.
fn target_folder() -> PathBuf {
    let out = PathBuf::from(variable("OUT_DIR"));
    // target/PROFILE/build/PACKAGE-HASH/out
    out.ancestors()
        .nth(4)
        .map(|target| target.join("guests"))
        .unwrap_or_else(|| panic!("{} lies in no target folder", out.display()))
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
