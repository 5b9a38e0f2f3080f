//! From a file or a built-in's bytes to a checked, compiled component.

use std::borrow::Cow;
use std::path::Path;

use keepsake_rights::{Manifest, ManifestError};
use keepsake_types::limits;
use keepsake_types::text::printable;
use wasmtime::component::Component;

use crate::cache::{CacheUse, ComponentCache};
use crate::engine::PluginEngine;
use crate::error::PluginError;
use crate::report::{PluginKind, PluginReport};

/// A plugin's bytes and the name to call it by.
#[derive(Clone, Debug)]
pub struct PluginSource {
    /// What errors and lists call it.
    pub name: String,
    /// The component.
    pub wasm: Cow<'static, [u8]>,
    pub(crate) hash: blake3::Hash,
}

impl PluginSource {
    /// A component by this name.
    pub fn new(name: impl Into<String>, wasm: impl Into<Cow<'static, [u8]>>) -> Self {
        let wasm = wasm.into();
        Self {
            name: name.into(),
            hash: blake3::hash(&wasm),
            wasm,
        }
    }

    /// A component that was hashed when the program was built: hashing a large
    /// one at each start would take longer than loading it.
    pub fn hashed(name: impl Into<String>, wasm: &'static [u8], hash: [u8; 32]) -> Self {
        Self {
            name: name.into(),
            hash: hash.into(),
            wasm: wasm.into(),
        }
    }

    /// BLAKE3 of the component, hexadecimal.
    #[must_use]
    pub fn hash(&self) -> String {
        self.hash.to_hex().to_string()
    }

    /// The manifest that lies in the component, if one does. Nothing is compiled
    /// for it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn manifest(&self) -> Result<Option<Manifest>, ManifestError> {
        keepsake_rights::embedded(&self.wasm)
            .map(Manifest::of_bytes)
            .transpose()
    }

    /// Reads a component's file; its name becomes the plugin's.
    ///
    /// # Errors
    /// When there is no such file, it is a directory, too large or unreadable.
    /// `built_in` lists the names that could have been meant.
    pub fn from_file(path: &Path, built_in: &str) -> Result<Self, PluginError> {
        let unreadable = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => PluginError::NoSuchFile {
                path: path.to_owned(),
                built_in: built_in.to_owned(),
            },
            _ => PluginError::Unreadable {
                path: path.to_owned(),
                reason: error.to_string(),
            },
        };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(PluginError::Directory {
                path: path.to_owned(),
            });
        }
        if !metadata.is_file() {
            return Err(PluginError::Unreadable {
                path: path.to_owned(),
                reason: "it is neither a file nor a directory".into(),
            });
        }
        let name = path.file_stem().map_or_else(String::new, |stem| {
            // Cargo writes the dashes of a package's name as underscores.
            stem.to_string_lossy().replace('_', "-")
        });
        if metadata.len() > limits::COMPONENT_BYTES {
            return Err(PluginError::TooLarge {
                name,
                bytes: metadata.len(),
                limit: limits::COMPONENT_BYTES,
            });
        }
        let wasm = std::fs::read(path).map_err(unreadable)?;
        Ok(Self::new(name, wasm))
    }
}

/// A compiled component and what is known of it.
#[derive(Clone)]
pub struct LoadedPlugin {
    /// What it is and whether it runs here.
    pub report: PluginReport,
    /// Whether it had to be compiled.
    pub cache_use: CacheUse,
    pub(crate) component: Component,
}

impl LoadedPlugin {
    /// Checks and compiles a plugin, whether or not it fits this host.
    ///
    /// # Errors
    /// When the bytes are not a sound component.
    pub fn load(
        engine: &PluginEngine,
        cache: &ComponentCache,
        source: &PluginSource,
    ) -> Result<Self, PluginError> {
        let name = &source.name;
        let wasm = source.wasm.as_ref();
        check_header(name, wasm)?;
        let compiled = cache.compile(engine, &source.hash, || {
            Component::from_binary(engine.wasmtime(), wasm)
        });
        let (component, cache_use) = compiled.map_err(|error| PluginError::Damaged {
            name: name.clone(),
            // The validator quotes names out of the component.
            reason: printable(
                &error
                    .chain()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(": "),
            ),
        })?;
        Ok(Self {
            report: PluginReport::new(source, &component, engine.wasmtime()),
            cache_use,
            component,
        })
    }

    /// The same, if it is of the kind that is needed and runs here.
    ///
    /// # Errors
    /// When it is of another kind or does not fit this host.
    pub fn expect(self, needed: PluginKind) -> Result<Self, PluginError> {
        if !self.report.runs_here {
            return Err(PluginError::DoesNotFit {
                name: self.report.name,
                problems: self.report.problems,
            });
        }
        if self.report.kind != needed {
            return Err(PluginError::WrongKind {
                name: self.report.name,
                actual: self.report.kind.with_article(),
                needed: needed.with_article(),
            });
        }
        Ok(self)
    }

    /// The plugin's name.
    pub fn name(&self) -> &str {
        &self.report.name
    }
}

/// Tells what the bytes are if they are not a component, before the compiler
/// does so in words of its own.
fn check_header(name: &str, wasm: &[u8]) -> Result<(), PluginError> {
    let name = name.to_owned();
    match wasm {
        [] => Err(PluginError::Empty { name }),
        [0, b'a', b's', b'm', rest @ ..] => match rest {
            [_, _, 1, 0, ..] => Ok(()),
            [_, _, 0, 0, ..] => Err(PluginError::CoreModule { name }),
            _ => Err(PluginError::Damaged {
                name,
                reason: "it ends within its header or names an unknown format".into(),
            }),
        },
        _ => Err(PluginError::NotWasm {
            name,
            hint: hint(wasm),
        }),
    }
}

fn hint(bytes: &[u8]) -> &'static str {
    let start = bytes.trim_ascii_start();
    if start.starts_with(b"(component") || start.starts_with(b"(module") {
        ": it is WebAssembly text; translate it with `wasm-tools parse`"
    } else if bytes.starts_with(b"\x7fELF") {
        ": it is a program or compiled code for this machine; give the `.wasm` that it was built from"
    } else if bytes.starts_with(b"PK") || bytes.starts_with(b"\x1f\x8b") {
        ": it is a compressed archive; unpack it first"
    } else if std::str::from_utf8(&bytes[..bytes.len().min(512)]).is_ok() {
        ": it is a text file; give the `.wasm` that was built from it"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(wasm: &'static [u8]) -> String {
        let source = PluginSource::new("sample", wasm);
        let engine = PluginEngine::new(1).unwrap();
        match LoadedPlugin::load(&engine, &ComponentCache::disabled(), &source) {
            Ok(_) => panic!("it loaded"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn bytes_that_are_no_component_are_named_for_what_they_are() {
        assert!(error(b"").contains("empty"));
        assert!(error(b"\0asm\x01\0\0\0").contains("core module; build for wasm32-wasip2"));
        assert!(error(b"(component)").contains("WebAssembly text"));
        assert!(error(b"\x7fELF\x02").contains("program"));
        assert!(error(b"#!/bin/sh").contains("text file"));
        assert!(error(b"\0asm").contains("damaged"));
        assert!(error(b"\0asm\x0d\0\x01\0\xff\xff\xff").contains("damaged"));
    }

    #[test]
    fn a_component_without_our_exports_is_not_ours() {
        let source = PluginSource::new("sample", b"\0asm\x0d\0\x01\0".as_slice());
        let engine = PluginEngine::new(1).unwrap();
        let plugin = LoadedPlugin::load(&engine, &ComponentCache::disabled(), &source).unwrap();
        assert_eq!(plugin.report.kind, PluginKind::NotOurs);
        let Err(error) = plugin.expect(PluginKind::Agent) else {
            panic!("it fits");
        };
        assert!(error.to_string().contains("keepsake:host/agent"));
    }
}
