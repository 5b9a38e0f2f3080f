//! What new plugin projects are made of. The source is that of the examples, so
//! that what authors begin with is what the tests run; the SDK lies beside it,
//! so that a project is made and built as it is without asking anyone for it.

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The manifest of the workspace that the vendored crates lie in.
const WORKSPACE: &str = include_str!(concat!(env!("OUT_DIR"), "/workspace.toml"));

/// What of the repository a project carries below `vendor`. It keeps its
/// places, so that the parts find each other and the WIT package.
const VENDORED_RUST: [&str; 5] = [
    "guest-sdk/Cargo.toml",
    "guest-sdk/README.md",
    "guest-sdk/src/",
    "host/gate/",
    "wit/",
];
const VENDORED_JS: [&str; 2] = ["guest-sdk/js/", "wit/"];
const VENDORED_PYTHON: [&str; 2] = ["guest-sdk/python/", "wit/"];

/// The name that stands for the plugin's own in the files of a project.
const PLACEHOLDER: &str = "my-plugin";

/// What a manifest begins with to wish: nothing beyond what every plugin has.
const WISHES: &str = "\
# What the plugin wishes beyond its customer's memory, a sandbox without a
# network and the providers of the settings. An operator grants it or not;
# `host inspect` shows both.
[wishes]
# http = [\"https://api.example.com\"]
# secrets = { API_TOKEN = { for = \"https://api.example.com\" } }
";

/// What a plugin is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, built by cargo.
    Rust,
    /// JavaScript, put into an engine that is WebAssembly.
    JavaScript,
    /// TypeScript, the same after a check of its types.
    TypeScript,
    /// Python, with its interpreter inside the component.
    Python,
}

impl Language {
    /// The language's name in a manifest and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::JavaScript => "js",
            Self::TypeScript => "ts",
            Self::Python => "python",
        }
    }

    /// The language's name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::JavaScript => "JavaScript",
            Self::TypeScript => "TypeScript",
            Self::Python => "Python",
        }
    }

    /// The file that holds the plugin.
    pub fn source(self) -> &'static str {
        match self {
            Self::Rust => "src/lib.rs",
            Self::JavaScript => "src/plugin.js",
            Self::TypeScript => "src/plugin.ts",
            Self::Python => "src/plugin.py",
        }
    }

    /// What runs the project's own tests, in its folder.
    pub fn test_command(self) -> &'static str {
        match self {
            Self::Rust => "cargo test",
            Self::JavaScript => "npm test",
            Self::TypeScript => "npm ci && npm test",
            Self::Python => "python3 -m unittest",
        }
    }
}

/// What a plugin is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It answers customers.
    Agent,
    /// It turns texts into vectors.
    EmbeddingProvider,
    /// It answers chats.
    ModelProvider,
}

impl Kind {
    /// The kind's name in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::EmbeddingProvider => "embedding-provider",
            Self::ModelProvider => "model-provider",
        }
    }

    /// The kind in a sentence, with its article.
    pub fn title(self) -> &'static str {
        match self {
            Self::Agent => "an agent",
            Self::EmbeddingProvider => "an embedding provider",
            Self::ModelProvider => "a model provider",
        }
    }

    /// The example that a plugin of this kind begins as, in Rust; those in other
    /// languages have the language's name behind it.
    fn example(self) -> &'static str {
        match self {
            Self::Agent => "minimal-agent",
            Self::EmbeddingProvider => "hashed-embeddings",
            Self::ModelProvider => "echo-model",
        }
    }
}

/// One file of a new project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it lies, from the project's folder, with `/` between the parts.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// The files of a new project, of a kind that is written in this language.
pub fn project(name: &str, kind: Kind, language: Language) -> Vec<File> {
    let mut files = vec![file(
        "plugin.toml",
        format!(
            "manifest = 1\nname = \"{name}\"\nkind = \"{}\"\nlanguage = \"{}\"\n\n{WISHES}",
            kind.name(),
            language.name()
        ),
    )];
    match language {
        Language::Rust => {
            let source = format!("examples/{}/src/lib.rs", kind.example());
            files.push(file(
                "src/lib.rs",
                text_of(&source).replace(kind.example(), name),
            ));
            // The versions that this host was tested with. Cargo takes out
            // what the project does not use.
            files.push(file("Cargo.lock", text_of("Cargo.lock").to_owned()));
            files.push(file("vendor/Cargo.toml", WORKSPACE.to_owned()));
            vendor(&mut files, &VENDORED_RUST);
        }
        Language::JavaScript | Language::TypeScript | Language::Python => {
            let example = format!("examples/{}-{}/", kind.example(), language.name());
            copy(&mut files, &example, |text| {
                text.replace(kind.example(), name)
            });
            match language {
                Language::Python => vendor(&mut files, &VENDORED_PYTHON),
                _ => vendor(&mut files, &VENDORED_JS),
            }
        }
    }
    copy(&mut files, &format!("files/{}/", language.name()), |text| {
        text.replace(PLACEHOLDER, name)
    });
    files
}

/// Adds the carried files below a folder, with their places in it.
fn copy(files: &mut Vec<File>, folder: &str, adapt: impl Fn(&str) -> String) {
    for (path, text) in FILES {
        let Some(place) = path.strip_prefix(folder) else {
            continue;
        };
        // What an example says of itself is not what a project says.
        if ["README.md", "plugin.toml"].contains(&place) && folder.starts_with("examples/") {
            continue;
        }
        let place = place.replace("gitignore", ".gitignore");
        files.push(file(&place, adapt(text)));
    }
}

fn vendor(files: &mut Vec<File>, vendored: &[&str]) {
    let chosen = FILES
        .iter()
        .filter(|(path, _)| vendored.iter().any(|begin| path.starts_with(begin)));
    files.extend(chosen.map(|(path, text)| file(&format!("vendor/{path}"), (*text).to_owned())));
}

fn file(path: &str, text: String) -> File {
    File {
        path: path.to_owned(),
        text,
    }
}

/// A carried file's text.
fn text_of(path: &str) -> &'static str {
    FILES
        .iter()
        .find(|(known, _)| *known == path)
        .map_or_else(|| panic!("{path} is carried"), |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 3] = [Kind::Agent, Kind::EmbeddingProvider, Kind::ModelProvider];
    const LANGUAGES: [Language; 4] = [
        Language::Rust,
        Language::JavaScript,
        Language::TypeScript,
        Language::Python,
    ];

    #[test]
    fn a_project_bears_its_name_and_not_the_examples() {
        for (kind, language) in KINDS
            .into_iter()
            .flat_map(|kind| LANGUAGES.map(|language| (kind, language)))
        {
            let files = project("billing-helper", kind, language);
            let own = files
                .iter()
                .filter(|file| !file.path.starts_with("vendor/") && file.path != "Cargo.lock");
            for file in own {
                assert!(!file.text.contains(PLACEHOLDER), "{}", file.path);
                assert!(!file.text.contains(kind.example()), "{}", file.path);
            }
            let text = |path: &str| {
                let found = files.iter().find(|file| file.path == path);
                &found.unwrap_or_else(|| panic!("{path} is missing")).text
            };
            let manifest = text("plugin.toml");
            assert!(manifest.contains(kind.name()) && manifest.contains(language.name()));
            assert!(!text(language.source()).is_empty());
            assert!(!text("README.md").is_empty() && !text(".gitignore").is_empty());
            assert!(!text("vendor/wit/world.wit").is_empty());
        }
    }

    #[test]
    fn no_file_of_a_project_is_there_twice() {
        for language in LANGUAGES {
            let files = project("billing-helper", Kind::Agent, language);
            let mut paths: Vec<_> = files.iter().map(|file| &file.path).collect();
            paths.sort();
            let all = paths.len();
            paths.dedup();
            assert_eq!(paths.len(), all, "{language:?}");
        }
    }

    #[test]
    fn a_project_carries_the_sdk_of_its_language_only() {
        let holds = |language, path: &str| {
            let files = project("billing-helper", Kind::Agent, language);
            files.iter().any(|file| file.path == path)
        };
        for (language, others) in [
            (Language::Rust, "vendor/guest-sdk/js/src/index.js"),
            (Language::JavaScript, "vendor/guest-sdk/src/lib.rs"),
            (Language::Python, "vendor/guest-sdk/js/src/index.js"),
        ] {
            assert!(!holds(language, others), "{language:?}");
        }
        assert!(holds(Language::Rust, "vendor/guest-sdk/src/lib.rs"));
        assert!(holds(Language::Rust, "vendor/host/gate/src/lib.rs"));
        assert!(holds(
            Language::TypeScript,
            "vendor/guest-sdk/js/build/build.js"
        ));
        assert!(!WORKSPACE.contains("host/storage"), "{WORKSPACE}");
    }
}
