//! JavaScript and TypeScript: Node.js runs the SDK's build, with tools that npm
//! installs in the versions of the project's lock file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::project::Project;
use crate::failure::{ExitCode, Failure};
use crate::output::note;
use crate::progress;

/// Older ones do not run the tools.
const NODE_MAJOR: u32 = 20;

/// What the build cannot do without, and is not there before npm ran.
const NEEDED: &str = "node_modules/@bytecodealliance/componentize-js/package.json";

/// The SDK's build, in a project that carries the SDK.
const BUILD: &str = "vendor/guest-sdk/js/build/build.js";

/// Builds the component into `to`. Errors of the source are shown by the build
/// itself, on standard error.
pub(super) fn build(project: &Project, to: &Path) -> Result<(), Failure> {
    check_node()?;
    let script = project.folder.join(BUILD);
    if !script.is_file() {
        return Err(Failure::new(
            ExitCode::Usage,
            format!(
                "`{}` is missing, which builds the component: `host new` puts it there with the SDK, copy `vendor` from a new project",
                script.display()
            ),
        ));
    }
    if !is_installed(&project.folder) {
        install(&project.folder)?;
    }
    let built = Command::new("node")
        .arg(&script)
        .arg(&project.folder)
        .arg(project.kind())
        .arg(to)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(|error| not_run("node", &error))?;
    if built.success() {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Plugin,
        format!("{} does not build; the reason stands above", project.name),
    ))
}

fn check_node() -> Result<(), Failure> {
    let asked = Command::new("node")
        .arg("--version")
        .output()
        .map_err(|error| not_run("node", &error))?;
    let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    let major = version
        .strip_prefix('v')
        .and_then(|numbers| numbers.split('.').next()?.parse::<u32>().ok());
    if major.is_some_and(|major| major >= NODE_MAJOR) {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Other,
        format!(
            "`node` is {version:?}, and plugins in JavaScript are built with Node.js {NODE_MAJOR} or later: install it from https://nodejs.org"
        ),
    ))
}

/// Whether the tools lie in the project or, as in a workspace of npm's, in a
/// folder above it; in the project no older than its lock file.
fn is_installed(folder: &Path) -> bool {
    let folder = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    if folder.join("node_modules").is_dir() {
        return folder.join(NEEDED).is_file() && !is_older_than_lock(&folder);
    }
    folder
        .ancestors()
        .skip(1)
        .any(|above| above.join(NEEDED).is_file())
}

fn is_older_than_lock(folder: &Path) -> bool {
    let changed = |path: PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    // npm writes this when it is done.
    let installed = changed(folder.join("node_modules/.package-lock.json"));
    installed < changed(folder.join("package-lock.json"))
}

fn install(folder: &Path) -> Result<(), Failure> {
    // Without a lock file there are no versions to keep to.
    let command = if folder.join("package-lock.json").is_file() {
        "ci"
    } else {
        "install"
    };
    note!("installing the build tools with `npm {command}`, some 340 MB, once for this project");
    let working = progress::after_a_moment("npm installs the build tools");
    let ran = Command::new("npm")
        .arg(command)
        .args(["--no-audit", "--no-fund", "--progress=false"])
        .args(["--loglevel=error", "--fetch-retries=2"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    drop(working);
    let ran = ran.map_err(|error| not_run("npm", &error))?;
    if ran.success() {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Other,
        format!(
            "the build tools cannot be installed; npm says why above. It needs the registry once: with a connection, run `npm {command}` in `{}`",
            folder.display()
        ),
    ))
}

fn not_run(program: &str, error: &std::io::Error) -> Failure {
    let words = if error.kind() == std::io::ErrorKind::NotFound {
        format!(
            "{program} is missing, which builds plugins in JavaScript and TypeScript: install Node.js {NODE_MAJOR} or later, which npm comes with, from https://nodejs.org"
        )
    } else {
        format!("{program} cannot be run: {error}")
    };
    Failure::new(ExitCode::Other, words)
}
