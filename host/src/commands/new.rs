//! `host new`: a folder that an author begins with. Asks no network.

use std::fs;
use std::path::Path;

use keepsake_templates::{Kind, Language};

use crate::cli::{NewKind, NewLanguage};
use crate::failure::{ExitCode, Failure};
use crate::output;

/// As many as an agent's description allows.
const NAME_CHARACTERS: usize = 64;

/// Names that cargo refuses, since they would hide a crate that each project
/// has. They are no names in other languages either, so that a plugin can be
/// written anew without another name.
const TAKEN: [&str; 7] = [
    "alloc",
    "core",
    "keepsake-sdk",
    "keepsake-gate",
    "proc-macro",
    "std",
    "test",
];

pub(crate) fn run(
    name: &str,
    kind: NewKind,
    language: NewLanguage,
    json: bool,
) -> Result<(), Failure> {
    check(name)?;
    let kind = match kind {
        NewKind::Agent => Kind::Agent,
        NewKind::EmbeddingProvider => Kind::EmbeddingProvider,
        NewKind::ModelProvider => Kind::ModelProvider,
    };
    let language = match language {
        NewLanguage::Rust => Language::Rust,
        NewLanguage::Js => Language::JavaScript,
        NewLanguage::Ts => Language::TypeScript,
        NewLanguage::Python => Language::Python,
    };
    let files = keepsake_templates::project(name, kind, language);
    let folder = Path::new(name);
    // Made anew, not opened: what lies there already is someone's work.
    fs::create_dir(folder).map_err(|error| not_made(folder, &error))?;
    for file in &files {
        let path = folder.join(&file.path);
        let written = match path.parent() {
            Some(parent) => fs::create_dir_all(parent),
            None => Ok(()),
        }
        .and_then(|()| fs::write(&path, &file.text));
        written.map_err(|error| {
            Failure::new(
                ExitCode::Other,
                format!(
                    "`{}` cannot be written: {error}; remove `{name}` before trying again",
                    path.display()
                ),
            )
        })?;
    }
    if json {
        return output::json(&serde_json::json!({
            "folder": name,
            "kind": kind.name(),
            "language": language.name(),
            "files": files.iter().map(|file| &file.path).collect::<Vec<_>>(),
        }));
    }
    let next = match kind {
        Kind::Agent => format!("host run {name} --resource jordan"),
        Kind::EmbeddingProvider => {
            format!("host run support-agent --embeddings {name}/dist/{name}.wasm")
        }
        Kind::ModelProvider => format!("host run support-agent --model {name}/dist/{name}.wasm"),
    };
    output::write(&format!(
        "made {name}, {} in {}\n\n  {:<width$}  the plugin{}\n  cd {name} && {}\n  host build {name}\n  {next}\n",
        kind.title(),
        language.title(),
        format!("{name}/{}", language.source()),
        match language {
            Language::Rust => " and its tests",
            Language::Python => "; its tests are in tests",
            _ => "; its tests are in test",
        },
        language.test_command(),
        width = name.len() + "/src/lib.rs    ".len(),
    ))
}

fn check(name: &str) -> Result<(), Failure> {
    let fits = name
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let problem = if name.is_empty() || name.len() > NAME_CHARACTERS {
        format!("it has {} characters", name.chars().count())
    } else if !fits {
        "it has other characters".to_owned()
    } else if !name.starts_with(|first: char| first.is_ascii_lowercase()) || name.ends_with('-') {
        "it begins with no letter or ends with a dash".to_owned()
    } else if TAKEN.contains(&name) {
        "a part of Rust or of the SDK is called so".to_owned()
    } else {
        return Ok(());
    };
    Err(Failure::new(
        ExitCode::Usage,
        format!(
            "`{}` cannot be a plugin's name: {problem}; a name is from 1 to {NAME_CHARACTERS} of a-z, 0-9 and -, with a letter first, such as `billing-helper`",
            output::one_line(name, 80)
        ),
    ))
}

fn not_made(folder: &Path, error: &std::io::Error) -> Failure {
    let folder = folder.display();
    if error.kind() == std::io::ErrorKind::AlreadyExists {
        return Failure::new(
            ExitCode::Usage,
            format!(
                "`{folder}` exists, and nothing in it was changed: choose another name, or move it away"
            ),
        );
    }
    Failure::new(
        ExitCode::Other,
        format!("the folder `{folder}` cannot be made: {error}"),
    )
}
