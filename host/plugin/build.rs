//! Lists the functions of each interface in `wit/`, so that the loader can tell
//! a plugin that is too new from one that asks for what no host has.

use std::fmt::Write as _;
use std::path::PathBuf;

fn main() {
    let wit = PathBuf::from(env("CARGO_MANIFEST_DIR")).join("../../wit");
    println!("cargo::rerun-if-changed={}", wit.display());
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve
        .push_dir(&wit)
        .unwrap_or_else(|error| panic!("the WIT files do not parse: {error:#}"));
    let package = &resolve.packages[package];
    let version = package.name.version.as_ref().map(ToString::to_string);

    let mut code = String::new();
    let _ = writeln!(
        code,
        "/// The version of the WIT package that this host offers.\npub const WIT_VERSION: &str = {:?};",
        version.unwrap_or_default()
    );
    code.push_str("/// Every interface of the package with its functions.\npub(crate) const INTERFACES: &[(&str, &[&str])] = &[\n");
    for (name, interface) in &package.interfaces {
        let functions: Vec<&String> = resolve.interfaces[*interface].functions.keys().collect();
        let _ = writeln!(code, "    ({name:?}, &{functions:?}),");
    }
    code.push_str("];\n");
    let out = PathBuf::from(env("OUT_DIR")).join("interfaces.rs");
    std::fs::write(&out, code)
        .unwrap_or_else(|error| panic!("{} cannot be written: {error}", out.display()));
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
