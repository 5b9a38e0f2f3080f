//! What a component is and whether it runs here, read without running it.

use keepsake_rights::{Capability, Manifest};
use serde::Serialize;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use crate::loader::PluginSource;

include!(concat!(env!("OUT_DIR"), "/interfaces.rs"));

/// The package that our interfaces are in.
const PACKAGE: &str = "keepsake:host/";

/// What a plugin imports that sends requests.
const OUTGOING_HTTP: &str = "wasi:http/outgoing-handler@";

/// What a component exports decides what it is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginKind {
    /// It answers customers.
    Agent,
    /// It turns texts into vectors.
    EmbeddingProvider,
    /// It answers chats.
    ModelProvider,
    /// It exports nothing that this host would call.
    NotOurs,
}

impl PluginKind {
    /// The kind in words, with its article.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Agent => "an agent",
            Self::EmbeddingProvider => "an embedding provider",
            Self::ModelProvider => "a model provider",
            Self::NotOurs => "no Keepsake plugin",
        }
    }

    /// The interface that makes a component of this kind.
    fn export(self) -> Option<&'static str> {
        match self {
            Self::Agent => Some("agent"),
            Self::EmbeddingProvider => Some("embeddings"),
            Self::ModelProvider => Some("model"),
            Self::NotOurs => None,
        }
    }

    /// The interfaces of our package that a plugin of this kind may import.
    fn imports(self) -> &'static [&'static str] {
        match self {
            Self::Agent => &[
                "types",
                "settings",
                "log",
                "session",
                "memory",
                "sandbox",
                "embeddings",
                "model",
                "agents",
            ],
            _ => &["types", "settings", "log"],
        }
    }
}

/// One imported or exported interface, or a single function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// The full name with its version, such as `keepsake:host/memory@0.1.0`.
    pub name: String,
    /// The functions that are used or offered.
    pub functions: Vec<String>,
}

/// What a component is and whether it runs here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PluginReport {
    /// The name that the plugin was loaded under.
    pub name: String,
    /// What it is.
    pub kind: PluginKind,
    /// The file's size in bytes.
    pub size: u64,
    /// BLAKE3 of the file, hexadecimal.
    pub hash: String,
    /// The version of our WIT package that it was built for, where it says so.
    pub wit_version: Option<String>,
    /// The version that this host offers.
    pub host_wit_version: &'static str,
    /// What it says of itself and wishes, where it has a manifest that can be read.
    pub manifest: Option<Manifest>,
    /// What it needs.
    pub imports: Vec<Interface>,
    /// What it offers.
    pub exports: Vec<Interface>,
    /// Whether it would run on this host.
    pub runs_here: bool,
    /// Why not: one sentence each, with what to do.
    pub problems: Vec<String>,
}

impl PluginReport {
    pub(crate) fn new(source: &PluginSource, component: &Component, engine: &Engine) -> Self {
        let wasm = source.wasm.as_ref();
        let ty = component.component_type();
        let imports: Vec<_> = ty
            .imports(engine)
            .map(|(name, item)| interface(name, &item.ty, engine))
            .collect();
        let exports: Vec<_> = ty
            .exports(engine)
            .map(|(name, item)| interface(name, &item.ty, engine))
            .collect();
        let kind = kind(&exports);
        let (manifest, unreadable) = match source.manifest() {
            Ok(manifest) => (manifest, None),
            Err(error) => (None, Some(error)),
        };
        let mut report = Self {
            name: source.name.clone(),
            kind,
            size: wasm.len() as u64,
            hash: source.hash.to_hex().to_string(),
            wit_version: wit_version(wasm)
                .or_else(|| version_of_first(&exports))
                .or_else(|| version_of_first(&imports)),
            host_wit_version: WIT_VERSION,
            manifest,
            imports,
            exports,
            runs_here: false,
            problems: Vec::new(),
        };
        report.problems = problems(&report);
        report.problems.extend(unreadable.map(|error| {
            format!(
                "the manifest in it cannot be used: {error}; correct plugin.toml and build it again"
            )
        }));
        report.runs_here = report.problems.is_empty();
        report
    }

    /// Whether it imports this capability's interface, or keeps nothing but types
    /// of it.
    pub fn uses(&self, capability: Capability) -> bool {
        self.imports_ours(capability.name(), None)
    }

    /// Whether it can send requests over HTTP.
    pub fn asks_servers(&self) -> bool {
        self.imports
            .iter()
            .any(|import| import.name.starts_with(OUTGOING_HTTP))
    }

    /// Whether it imports this function of our package's interface, or any where
    /// none is named.
    pub(crate) fn imports_ours(&self, interface: &str, function: Option<&str>) -> bool {
        self.imports.iter().any(|import| {
            ours(&import.name).is_some_and(|(name, _)| name == interface)
                && import
                    .functions
                    .iter()
                    .any(|imported| function.is_none_or(|wanted| imported == wanted))
        })
    }

    /// Whether it exports this interface of our package.
    pub(crate) fn exports_ours(&self, interface: &str) -> bool {
        self.exports
            .iter()
            .filter_map(|export| ours(&export.name))
            .any(|(name, _)| name == interface)
    }
}

fn interface(name: &str, item: &ComponentItem, engine: &Engine) -> Interface {
    let functions = match item {
        ComponentItem::ComponentInstance(instance) => instance
            .exports(engine)
            .filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)))
            .map(|(name, _)| name.to_owned())
            .collect(),
        _ => Vec::new(),
    };
    Interface {
        name: name.to_owned(),
        functions,
    }
}

/// `("memory", "0.1.0")` of `keepsake:host/memory@0.1.0`; none for others' names.
fn ours(name: &str) -> Option<(&str, &str)> {
    let (interface, version) = name.strip_prefix(PACKAGE)?.split_once('@')?;
    Some((interface, version))
}

fn kind(exports: &[Interface]) -> PluginKind {
    let exported = |wanted| {
        exports
            .iter()
            .filter_map(|export| ours(&export.name))
            .any(|(interface, _)| interface == wanted)
    };
    [
        PluginKind::Agent,
        PluginKind::EmbeddingProvider,
        PluginKind::ModelProvider,
    ]
    .into_iter()
    .find(|kind| kind.export().is_some_and(exported))
    .unwrap_or(PluginKind::NotOurs)
}

fn version_of_first(interfaces: &[Interface]) -> Option<String> {
    interfaces
        .iter()
        .find_map(|interface| Some(ours(&interface.name)?.1.to_owned()))
}

/// The custom section that the guest SDK writes.
fn wit_version(wasm: &[u8]) -> Option<String> {
    let mut parser = wasmparser::Parser::new(0).parse_all(wasm);
    parser.find_map(|payload| match payload.ok()? {
        wasmparser::Payload::CustomSection(section) if section.name() == "keepsake:host" => {
            let version = std::str::from_utf8(section.data()).ok()?;
            let plain = version
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
            (plain && version.len() <= 32).then(|| version.to_owned())
        }
        _ => None,
    })
}

fn problems(report: &PluginReport) -> Vec<String> {
    let mut problems: Vec<String> = Vec::new();
    if report.kind == PluginKind::NotOurs {
        problems.push(format!(
            "it exports none of `{PACKAGE}agent`, `{PACKAGE}embeddings` and `{PACKAGE}model` (it exports {}): \
             implement one of the SDK's traits and register it with `register_agent!`, \
             `register_embedding_provider!` or `register_model_provider!`",
            listed(&report.exports)
        ));
    }
    for export in &report.exports {
        if let Some((interface, version)) = ours(&export.name) {
            problems.extend(version_problem("exports", interface, version));
        }
    }
    for import in &report.imports {
        problems.extend(import_problem(report.kind, import));
    }
    if let Some(manifest) = &report.manifest {
        problems.extend(unwished(report, manifest));
    }
    // One cause gives one message: a wrong version shows in every import.
    problems.dedup();
    problems
}

/// What it imports, or is, against its own manifest.
fn unwished(report: &PluginReport, manifest: &Manifest) -> Vec<String> {
    let mut problems = Vec::new();
    if report.kind != PluginKind::NotOurs && report.kind.export() != Some(manifest.kind.export()) {
        problems.push(format!(
            "its manifest says that it is of kind `{}`, and it is {}: correct `kind` in plugin.toml, or what the source registers, and build it again",
            manifest.kind.name(),
            report.kind.with_article(),
        ));
    }
    let wishes = &manifest.wishes;
    if let Some(wished) = &wishes.interfaces {
        let used = Capability::ALL.into_iter().filter(|of| report.uses(*of));
        problems.extend(used.filter(|of| !wished.contains(of)).map(|of| {
            let name = of.name();
            format!(
                "it imports `{PACKAGE}{name}`, which its manifest does not wish: add \"{name}\" to `interfaces` under [wishes] in plugin.toml and build it again, or remove its use"
            )
        }));
    }
    if report.asks_servers() && wishes.http.is_empty() {
        problems.push(
            "it imports `wasi:http/outgoing-handler`, and its manifest wishes no server: list the servers in `http` under [wishes] in plugin.toml, as in http = [\"https://api.example.com\"], and build it again, or remove its use"
                .into(),
        );
    }
    problems
}

fn import_problem(kind: PluginKind, import: &Interface) -> Option<String> {
    if let Some((interface, version)) = ours(&import.name) {
        let Some((_, known)) = INTERFACES.iter().find(|(name, _)| *name == interface) else {
            return Some(version_problem("imports", interface, version).unwrap_or_else(|| {
                format!(
                    "it imports `{}`, an interface that keepsake:host {WIT_VERSION} does not have: update the host",
                    import.name
                )
            }));
        };
        if let Some(problem) = version_problem("imports", interface, version) {
            return Some(problem);
        }
        if let Some(function) = import
            .functions
            .iter()
            .find(|function| !known.contains(&function.as_str()))
        {
            return Some(format!(
                "it calls `{function}` of `{}`, which this host's keepsake:host {WIT_VERSION} does not have yet: update the host",
                import.name
            ));
        }
        // Tools that build components keep the types of an interface that is
        // exported as an import without functions, which gives no right.
        let only_types = import.functions.is_empty() && kind.export() == Some(interface);
        if kind != PluginKind::NotOurs && !only_types && !kind.imports().contains(&interface) {
            return Some(format!(
                "it imports `{}`, which {} may not use; only {} of this package are offered to it",
                import.name,
                kind.with_article(),
                kind.imports().join(", "),
            ));
        }
        return None;
    }
    const OFFERED: [&str; 8] = [
        "wasi:io/",
        "wasi:clocks/",
        "wasi:cli/",
        "wasi:filesystem/",
        "wasi:sockets/",
        "wasi:random/",
        "wasi:http/types",
        "wasi:http/outgoing-handler",
    ];
    let (package, version) = import.name.split_once('@').unwrap_or((&import.name, ""));
    if OFFERED.iter().any(|offered| package.starts_with(offered)) {
        return (!version.starts_with("0.2.")).then(|| {
            format!(
                "it imports `{}`; this host offers WASI 0.2: build it for wasm32-wasip2",
                import.name
            )
        });
    }
    Some(format!(
        "it imports `{}`, which this host does not offer: compose it with a component that exports it, or remove its use",
        import.name
    ))
}

/// Tells a plugin that is too old from one that is too new; the linker's own
/// words do not.
fn version_problem(verb: &str, interface: &str, version: &str) -> Option<String> {
    let numbers = |text: &str| -> Option<(u64, u64, u64)> {
        let core = text.split(['-', '+']).next()?;
        let mut parts = core.split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??, parts.next()??))
    };
    let (Some(theirs), Some(ours)) = (numbers(version), numbers(WIT_VERSION)) else {
        return Some(format!(
            "it {verb} `{PACKAGE}{interface}` in the unreadable version `{version}`: build it with this host's SDK"
        ));
    };
    // Within 0.x the second number tells what is compatible, later the first.
    let line = |(major, minor, _): (u64, u64, u64)| (major, if major == 0 { minor } else { 0 });
    if line(theirs) == line(ours) {
        return None;
    }
    Some(if theirs > ours {
        format!(
            "it was built for keepsake:host {version}, which is newer than this host's {WIT_VERSION}: update the host"
        )
    } else {
        format!(
            "it was built for keepsake:host {version}, which is older than this host's {WIT_VERSION}: build it again with the SDK of this host"
        )
    })
}

fn listed(interfaces: &[Interface]) -> String {
    if interfaces.is_empty() {
        return "nothing".into();
    }
    let names: Vec<_> = interfaces
        .iter()
        .take(8)
        .map(|interface| format!("`{}`", interface.name))
        .collect();
    let more = if interfaces.len() > 8 { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interfaces_come_from_the_wit_files() {
        assert_eq!(WIT_VERSION, "0.1.0");
        let memory = INTERFACES.iter().find(|(name, _)| *name == "memory");
        assert!(memory.unwrap().1.contains(&"[method]scope.recall"));
    }

    #[test]
    fn a_newer_version_is_told_from_an_older_one() {
        assert_eq!(version_problem("imports", "memory", "0.1.0"), None);
        assert_eq!(version_problem("imports", "memory", "0.1.9"), None);
        let newer = version_problem("imports", "memory", "0.2.0").unwrap();
        assert!(newer.contains("newer") && newer.contains("update the host"));
        let newer = version_problem("imports", "memory", "1.0.0").unwrap();
        assert!(newer.contains("newer"));
        let older = version_problem("imports", "memory", "0.0.9").unwrap();
        assert!(older.contains("older") && older.contains("build it again"));
    }
}
