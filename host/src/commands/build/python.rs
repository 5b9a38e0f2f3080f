//! Python: componentize-py, in a virtual environment of the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::project::Project;
use crate::failure::{ExitCode, Failure};
use crate::output::{self, note};
use crate::progress;

/// What the SDK is written in.
const PYTHON_MINOR: u32 = 10;

/// Where the tools are installed.
const ENVIRONMENT: &str = ".venv";

/// What says which tools are installed.
const REQUIREMENTS: &str = "requirements.txt";

/// What a component's folders are called in the project, in the order in which
/// they are given to the tool. It numbers them.
const FOLDERS: [&str; 2] = ["src", "vendor/guest-sdk/python"];

/// Builds the component into `to`.
pub(super) fn build(project: &Project, to: &Path) -> Result<(), Failure> {
    let (world, entry) = match project.kind() {
        "agent" => ("agent-plugin", "agent"),
        "embedding-provider" => ("embedding-provider", "embedding_provider"),
        "model-provider" => ("model-provider", "model_provider"),
        kind => {
            return Err(Failure::new(
                ExitCode::Usage,
                format!(
                    "plugins of the kind {kind} cannot be written in Python yet; there are agent, embedding-provider and model-provider"
                ),
            ));
        }
    };
    for needed in ["src/plugin.py", "vendor/guest-sdk/python", "vendor/wit"] {
        if !project.folder.join(needed).exists() {
            return Err(Failure::new(
                ExitCode::Usage,
                format!(
                    "`{}` is missing: the plugin's source begins in src/plugin.py, and `host new` puts the SDK into vendor",
                    project.folder.join(needed).display()
                ),
            ));
        }
    }
    let tool = installed(&project.folder)?;
    note!("making the component, which takes some 10 to 30 seconds");
    let working = progress::after_a_moment("componentize-py makes the component");
    let to = std::path::absolute(to)?;
    let mut command = Command::new(tool);
    command
        .args(["--quiet", "--wit-path", "vendor/wit", "--world", world])
        .arg("componentize")
        .arg(format!("keepsake_sdk.component.{entry}"));
    for folder in FOLDERS {
        command.args(["--python-path", folder]);
    }
    let built = command
        .arg("--output")
        .arg(to)
        .current_dir(&project.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    drop(working);
    let built = built.map_err(|error| not_run("componentize-py", &error))?;
    if built.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&built.stderr);
    note!("{}", output::printable(&reason(&said)));
    Err(Failure::new(
        ExitCode::Plugin,
        format!("{} does not build; the reason stands above", project.name),
    ))
}

/// The tool, installed where it is not there yet or other versions are wanted.
fn installed(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = folder.canonicalize()?;
    let environment = folder.join(ENVIRONMENT);
    let tool = environment.join("bin/componentize-py");
    // Written last, so that an environment that was not finished is not taken
    // for one that was.
    let done = environment.join("keepsake-requirements.txt");
    let requirements = folder.join(REQUIREMENTS);
    let wanted = fs::read(&requirements).map_err(|error| {
        Failure::new(
            ExitCode::Usage,
            format!(
                "`{}` cannot be read: {error}; it names the build tools, as in `componentize-py==0.25.1`",
                requirements.display()
            ),
        )
    })?;
    if tool.is_file() && fs::read(&done).is_ok_and(|there| there == wanted) {
        return Ok(tool);
    }
    check_python()?;
    note!("installing the build tools into {ENVIRONMENT}, some 70 MB, once for this project");
    let working = progress::after_a_moment("pip installs the build tools");
    let made = Command::new("python3")
        .args(["-m", "venv"])
        .arg(&environment)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(|error| not_run("python3", &error))?;
    if !made.success() {
        drop(working);
        return Err(Failure::new(
            ExitCode::Other,
            format!(
                "the virtual environment `{}` cannot be made; python3 says why above (on Debian and Ubuntu it needs the package python3-venv)",
                environment.display()
            ),
        ));
    }
    let pip = environment.join("bin/python");
    let ran = Command::new(&pip)
        .args(["-m", "pip", "install", "--quiet", "--no-input"])
        .args(["--disable-pip-version-check", "--requirement"])
        .arg(&requirements)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    drop(working);
    let ran = ran.map_err(|error| not_run("pip", &error))?;
    if !ran.success() || !tool.is_file() {
        return Err(Failure::new(
            ExitCode::Other,
            format!(
                "the build tools of `{}` cannot be installed; pip says why above. It needs a connection to the package index once",
                requirements.display()
            ),
        ));
    }
    fs::write(&done, wanted)?;
    Ok(tool)
}

fn check_python() -> Result<(), Failure> {
    let asked = Command::new("python3")
        .arg("--version")
        .output()
        .map_err(|error| not_run("python3", &error))?;
    let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    let minor = version
        .strip_prefix("Python 3.")
        .and_then(|numbers| numbers.split('.').next()?.parse::<u32>().ok());
    if minor.is_some_and(|minor| minor >= PYTHON_MINOR) {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Other,
        format!(
            "python3 is {version:?}, and plugins in Python are built with Python 3.{PYTHON_MINOR} or later: install it from https://www.python.org"
        ),
    ))
}

/// What the tool says that is about the source: it puts its own stack around
/// it, and numbers folders.
fn reason(said: &str) -> String {
    let from = said.rfind("AssertionError: ");
    let text = from.map_or(said, |at| &said[at + "AssertionError: ".len()..]);
    let end = ["\n\nStack backtrace:", "\n\n\nCaused by:", "\n\nCaused by:"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min();
    let mut text = text[..end.unwrap_or(text.len())].trim_end().to_owned();
    for (number, folder) in FOLDERS.iter().enumerate() {
        text = text.replace(&format!("\"/{number}/"), &format!("\"{folder}/"));
    }
    text
}

fn not_run(program: &str, error: &std::io::Error) -> Failure {
    let words = if error.kind() == std::io::ErrorKind::NotFound {
        format!(
            "{program} is missing, which builds plugins in Python: install Python 3.{PYTHON_MINOR} or later from https://www.python.org"
        )
    } else {
        format!("{program} cannot be run: {error}")
    };
    Failure::new(ExitCode::Other, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_the_tool_says_the_authors_part_is_shown() {
        let said = "Traceback (most recent call last):\n  File \"/venv/bin/componentize-py\", line 8\nAssertionError: Traceback (most recent call last):\n  File \"/0/plugin.py\", line 2, in <module>\nImportError: no such thing\n\n\nCaused by:\n    ImportError\n\nStack backtrace:\n   0: main\n";
        assert_eq!(
            reason(said),
            "Traceback (most recent call last):\n  File \"src/plugin.py\", line 2, in <module>\nImportError: no such thing"
        );
        assert_eq!(reason("killed\n"), "killed");
    }
}
