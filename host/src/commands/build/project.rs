//! A plugin's project: its folder and what `plugin.toml` says of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use keepsake_plugin::PluginKind;
pub(super) use keepsake_rights::Language;
use keepsake_rights::{Kind, MANIFEST_FILE as MANIFEST, Manifest};

use crate::failure::{ExitCode, Failure};

/// What is made of the source, and is no source.
const MADE: [&str; 6] = [
    ".git",
    ".venv",
    "__pycache__",
    "dist",
    "node_modules",
    "target",
];

/// Where tests in TypeScript are compiled to. Further down, folders named so are
/// source.
const COMPILED_TESTS: &str = "build";

/// A folder that a component can be built from.
pub(super) struct Project {
    pub(super) folder: PathBuf,
    pub(super) name: String,
    pub(super) language: Language,
    /// The manifest as it is written, for the component to carry.
    pub(super) manifest: String,
    kind: Kind,
}

impl Project {
    /// Whether a folder looks like a project.
    pub(super) fn is_at(folder: &Path) -> bool {
        [MANIFEST, "Cargo.toml", "package.json", "src/plugin.py"]
            .iter()
            .any(|name| folder.join(name).is_file())
    }

    /// # Errors
    /// When there is no project, or its manifest is wrong.
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let wrong = |message: String| Failure::new(ExitCode::Usage, message);
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => wrong(format!(
                "`{}` is no plugin's project, for want of a {MANIFEST}: `host new NAME` makes a project; source of your own needs a {MANIFEST} with name = \"…\", kind = \"agent\" and language = \"{}\"",
                folder.display(),
                likely_language(folder)
            )),
            _ => wrong(format!("`{}` cannot be read: {error}", path.display())),
        })?;
        let manifest = Manifest::parse(&text)
            .map_err(|error| wrong(format!("`{}` is wrong: {error}", path.display())))?;
        Ok(Self {
            folder: folder.to_owned(),
            name: manifest.name,
            language: manifest.language,
            manifest: text,
            kind: manifest.kind,
        })
    }

    /// Where the component is written to.
    pub(super) fn component(&self) -> PathBuf {
        self.folder.join("dist").join(format!("{}.wasm", self.name))
    }

    /// When a file of the project was last changed.
    pub(super) fn newest_source(&self) -> Result<SystemTime, Failure> {
        let mut newest = SystemTime::UNIX_EPOCH;
        let compiled_tests = self.folder.join(COMPILED_TESTS);
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let made = MADE.iter().any(|made| entry.file_name() == *made);
                if made || entry.path() == compiled_tests {
                    continue;
                }
                let about = entry.metadata()?;
                if about.is_dir() {
                    folders.push(entry.path());
                // Cargo writes the lock file while it builds.
                } else if entry.file_name() != "Cargo.lock" {
                    newest = newest.max(about.modified()?);
                }
            }
        }
        Ok(newest)
    }

    /// The kind's name in the manifest.
    pub(super) fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// # Errors
    /// When the component is of another kind than the manifest says.
    pub(super) fn expect_kind(&self, built: PluginKind) -> Result<(), Failure> {
        let meant = match self.kind {
            Kind::Agent => PluginKind::Agent,
            Kind::EmbeddingProvider => PluginKind::EmbeddingProvider,
            Kind::ModelProvider => PluginKind::ModelProvider,
        };
        if built == meant {
            return Ok(());
        }
        Err(Failure::new(
            ExitCode::Plugin,
            format!(
                "{MANIFEST} says that {} is {}, but {} was built: correct `kind` in {MANIFEST}, or what the source registers",
                self.name,
                meant.with_article(),
                built.with_article()
            ),
        ))
    }
}

/// The language of a folder whose manifest is missing, by what lies in it.
fn likely_language(folder: &Path) -> &'static str {
    if folder.join("tsconfig.json").is_file() {
        "ts"
    } else if folder.join("package.json").is_file() {
        "js"
    } else if folder.join("src/plugin.py").is_file() {
        "python"
    } else {
        "rust"
    }
}
