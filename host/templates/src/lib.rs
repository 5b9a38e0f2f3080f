//! What new plugin projects are made of. The source is that of the examples, so
//! that what authors begin with is what the tests run; the SDK lies beside it,
//! so that a project is made and built as it is without asking anyone for it.

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The manifest of the workspace that the vendored crates lie in.
const WORKSPACE: &str = include_str!(concat!(env!("OUT_DIR"), "/workspace.toml"));

/// What of the repository a Rust project carries below `vendor`. It keeps its
/// places, so that the crates find each other and the WIT package.
const VENDORED: [&str; 3] = ["guest-sdk/", "host/gate/", "wit/"];

/// What a plugin is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It answers customers.
    Agent,
    /// It turns texts into vectors.
    EmbeddingProvider,
}

impl Kind {
    /// The kind's name in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::EmbeddingProvider => "embedding-provider",
        }
    }

    /// The example that a plugin of this kind begins as.
    fn example(self) -> &'static str {
        match self {
            Self::Agent => "minimal-agent",
            Self::EmbeddingProvider => "hashed-embeddings",
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

/// The files of a new Rust project.
pub fn rust(name: &str, kind: Kind) -> Vec<File> {
    let file = |path: &str, text: String| File {
        path: path.to_owned(),
        text,
    };
    let named = |path: &str, placeholder: &str| text_of(path).replace(placeholder, name);
    let source = format!("examples/{}/src/lib.rs", kind.example());
    let mut files = vec![
        file("Cargo.toml", named("files/rust/Cargo.toml", "my-plugin")),
        // The versions that this host was tested with. Cargo takes out what
        // the project does not use.
        file("Cargo.lock", text_of("Cargo.lock").to_owned()),
        file("README.md", named("files/rust/README.md", "my-plugin")),
        file(".gitignore", text_of("files/rust/gitignore").to_owned()),
        file(
            "plugin.toml",
            format!(
                "name = \"{name}\"\nkind = \"{}\"\nlanguage = \"rust\"\n",
                kind.name()
            ),
        ),
        file("src/lib.rs", named(&source, kind.example())),
        file("vendor/Cargo.toml", WORKSPACE.to_owned()),
    ];
    let vendored = FILES
        .iter()
        .filter(|(path, _)| VENDORED.iter().any(|folder| path.starts_with(folder)));
    files.extend(vendored.map(|(path, text)| file(&format!("vendor/{path}"), (*text).to_owned())));
    files
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

    #[test]
    fn a_project_bears_its_name_and_not_the_examples() {
        for (kind, example) in [
            (Kind::Agent, "minimal-agent"),
            (Kind::EmbeddingProvider, "hashed-embeddings"),
        ] {
            let files = rust("billing-helper", kind);
            let own = files
                .iter()
                .filter(|file| !file.path.starts_with("vendor/") && file.path != "Cargo.lock");
            for file in own {
                assert!(!file.text.contains("my-plugin"), "{}", file.path);
                assert!(!file.text.contains(example), "{}", file.path);
            }
            let manifest = files
                .iter()
                .find(|file| file.path == "plugin.toml")
                .unwrap();
            assert!(manifest.text.contains(kind.name()));
        }
    }

    #[test]
    fn the_vendored_workspace_names_only_what_is_there() {
        let files = rust("billing-helper", Kind::Agent);
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        for needed in [
            "vendor/guest-sdk/Cargo.toml",
            "vendor/guest-sdk/src/lib.rs",
            "vendor/host/gate/src/lib.rs",
            "vendor/wit/world.wit",
        ] {
            assert!(paths.contains(&needed), "{needed} is missing");
        }
        assert!(!WORKSPACE.contains("host/storage"), "{WORKSPACE}");
    }
}
