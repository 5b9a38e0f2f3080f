//! Compiled components on disk, so that a plugin is compiled once.
//!
//! Loading compiled code means trusting it like the host's own, and wasmtime
//! cannot check it. So the folder and every file in it must belong to the user
//! who runs the host and be writable by nobody else; a file that fails its
//! checksum is compiled anew; and the key names the component's content, this
//! machine's processor, wasmtime's version and all our engine settings, since
//! wasmtime does not compare every one of its own.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use wasmtime::component::Component;

use crate::engine::PluginEngine;
use crate::loader::PluginSource;

/// Ends every file of the cache, after the code and its checksum: wasmtime maps
/// a file that begins with the code, and copies any other.
const MAGIC: &[u8; 16] = b"keepsake-code-2\n";
/// Bytes of a file that are not code.
const TRAILER_BYTES: usize = blake3::OUT_LEN + MAGIC.len();
/// Bytes that are read at once to check a file.
const CHUNK_BYTES: usize = 256 * 1024;
/// Compiled components that are kept; the ones unused for longest go first.
const KEPT_FILES: usize = 128;

/// A folder of compiled components, or none.
#[derive(Clone, Debug)]
pub struct ComponentCache {
    folder: Option<PathBuf>,
}

/// Whether a component had to be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheUse {
    /// Its compiled code was on disk.
    Hit,
    /// It was compiled, and is on disk now.
    Stored,
    /// It was compiled and could not be kept.
    NotKept,
}

impl ComponentCache {
    /// A cache in `folder`, which is made when it is needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
        }
    }

    /// Compiles every time.
    pub fn disabled() -> Self {
        Self { folder: None }
    }

    /// Where this user's compiled components are kept by default:
    /// `$XDG_CACHE_HOME/keepsake` or `~/.cache/keepsake`.
    pub fn default_folder() -> Option<PathBuf> {
        let absolute = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(base.join("keepsake").join("components"))
    }

    /// Whether there is compiled code for a component. It may yet turn out to be
    /// damaged.
    pub fn has(&self, engine: &PluginEngine, source: &PluginSource) -> bool {
        self.folder.as_ref().is_some_and(|folder| {
            let key = key(engine, &source.hash);
            folder.join(file_name(&key)).is_file()
        })
    }

    /// The compiled form of the component whose bytes have the hash `content`,
    /// from disk if it is there and sound.
    pub(crate) fn compile(
        &self,
        engine: &PluginEngine,
        content: &blake3::Hash,
        compile: impl FnOnce() -> wasmtime::Result<Component>,
    ) -> wasmtime::Result<(Component, CacheUse)> {
        let Some(folder) = &self.folder else {
            return Ok((compile()?, CacheUse::NotKept));
        };
        let key = key(engine, content);
        let path = folder.join(file_name(&key));
        match load(engine, folder, &path, &key) {
            Ok(component) => return Ok((component, CacheUse::Hit)),
            Err(Rejected::Absent) => {}
            Err(Rejected::Unusable(reason)) => {
                tracing::debug!("compiled code in {path:?} is not used: {reason}");
            }
        }
        let component = compile()?;
        match store(folder, &path, &key, &component) {
            Ok(()) => Ok((component, CacheUse::Stored)),
            Err(error) => {
                // A plugin runs without a cache too, only slower.
                tracing::warn!("compiled code cannot be kept in {folder:?}: {error}");
                Ok((component, CacheUse::NotKept))
            }
        }
    }
}

fn key(engine: &PluginEngine, content: &blake3::Hash) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(engine.fingerprint().as_bytes());
    hasher.update(content.as_bytes());
    hasher.finalize()
}

fn file_name(key: &blake3::Hash) -> String {
    format!("{}.cwasm", key.to_hex())
}

enum Rejected {
    Absent,
    Unusable(String),
}

impl From<io::Error> for Rejected {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound {
            Self::Absent
        } else {
            Self::Unusable(error.to_string())
        }
    }
}

fn load(
    engine: &PluginEngine,
    folder: &Path,
    path: &Path,
    key: &blake3::Hash,
) -> Result<Component, Rejected> {
    trusted(&fs::symlink_metadata(folder)?, fs::FileType::is_dir)?;
    let mut file = File::options()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(path)?;
    // Asked of the open file, so that it cannot be swapped in between.
    trusted(&file.metadata()?, fs::FileType::is_file)?;
    check(&mut file, key)?;
    // The open file and no other: its name may stand for another one by now.
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the file is what `Component::serialize` gave to a host of this
    // user: it belongs to this user and nobody else can write to it or to its
    // folder, hosts replace such files and never write into them, the checksum
    // over key and code holds, and the key binds them to this component and to
    // this engine's settings.
    let component = unsafe { Component::deserialize_file(engine.wasmtime(), open) };
    let component = component.map_err(|error| Rejected::Unusable(format!("{error:#}")))?;
    // Marks it as used; whether that succeeds decides nothing.
    let _ = file.set_modified(std::time::SystemTime::now());
    Ok(component)
}

/// Refuses what another user owns or could have written.
fn trusted(metadata: &fs::Metadata, is_kind: fn(&fs::FileType) -> bool) -> Result<(), Rejected> {
    let user = rustix::process::geteuid().as_raw();
    if !is_kind(&metadata.file_type()) {
        return Err(Rejected::Unusable("it is not what it should be".into()));
    }
    if metadata.uid() != user {
        return Err(Rejected::Unusable("another user owns it".into()));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(Rejected::Unusable("other users can write to it".into()));
    }
    Ok(())
}

/// The beginning of the checksum over a key and its code.
fn checksum(key: &blake3::Hash) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.as_bytes());
    hasher
}

/// Reads a file to its end and compares its checksum.
fn check(file: &mut File, key: &blake3::Hash) -> Result<(), Rejected> {
    let altered = || Rejected::Unusable("its checksum is wrong, it was cut off or altered".into());
    let length = usize::try_from(file.metadata()?.len()).map_err(|_| altered())?;
    let mut code = length.checked_sub(TRAILER_BYTES).ok_or_else(altered)?;
    let mut hasher = checksum(key);
    let mut chunk = vec![0; CHUNK_BYTES];
    while code > 0 {
        let part = &mut chunk[..code.min(CHUNK_BYTES)];
        file.read_exact(part)?;
        hasher.update(part);
        code -= part.len();
    }
    let mut trailer = [0; TRAILER_BYTES];
    file.read_exact(&mut trailer)?;
    let sound = trailer.strip_suffix(MAGIC) == Some(hasher.finalize().as_bytes());
    sound.then_some(()).ok_or_else(altered)
}

fn store(folder: &Path, path: &Path, key: &blake3::Hash, component: &Component) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    trusted(&fs::symlink_metadata(folder)?, fs::FileType::is_dir).map_err(|reason| {
        io::Error::other(match reason {
            Rejected::Unusable(reason) => reason,
            Rejected::Absent => "it vanished".into(),
        })
    })?;
    let code = component.serialize().map_err(io::Error::other)?;
    // Written aside and renamed, so that another host sees all of it or nothing.
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .tempfile_in(folder)?;
    file.write_all(&code)?;
    file.write_all(checksum(key).update(&code).finalize().as_bytes())?;
    file.write_all(MAGIC)?;
    file.persist(path).map_err(|error| error.error)?;
    prune(folder);
    Ok(())
}

/// Deletes the files that were unused for longest, beyond [`KEPT_FILES`].
fn prune(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut files: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "cwasm"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    if files.len() <= KEPT_FILES {
        return;
    }
    files.sort();
    for (_, path) in &files[..files.len() - KEPT_FILES] {
        // Another host may have deleted it already.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The smallest component: the header and nothing else.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn compile(cache: &ComponentCache, engine: &PluginEngine) -> CacheUse {
        let compiled = cache.compile(engine, &blake3::hash(EMPTY), || {
            Component::from_binary(engine.wasmtime(), EMPTY)
        });
        compiled.unwrap().1
    }

    fn only_file(folder: &Path) -> PathBuf {
        let files: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
        assert_eq!(files.len(), 1);
        files[0].path()
    }

    #[test]
    fn an_unchanged_component_is_compiled_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ComponentCache::new(folder.path().join("deep/cache"));
        let engine = PluginEngine::new(1).unwrap();
        assert_eq!(compile(&cache, &engine), CacheUse::Stored);
        assert_eq!(compile(&cache, &engine), CacheUse::Hit);
        // Another engine with the same settings, as in a later process.
        assert_eq!(
            compile(&cache, &PluginEngine::new(2).unwrap()),
            CacheUse::Hit
        );
    }

    #[test]
    fn a_corrupt_file_is_compiled_anew() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ComponentCache::new(folder.path().join("cache"));
        let engine = PluginEngine::new(1).unwrap();
        compile(&cache, &engine);
        let file = only_file(&folder.path().join("cache"));
        let sound = fs::read(&file).unwrap();
        for position in [0, 20, 48, sound.len() / 2, sound.len() - 1] {
            let mut bytes = sound.clone();
            bytes[position] ^= 1;
            fs::write(&file, bytes).unwrap();
            assert_eq!(compile(&cache, &engine), CacheUse::Stored, "{position}");
        }
        fs::write(&file, &sound[..sound.len() / 3]).unwrap();
        assert_eq!(compile(&cache, &engine), CacheUse::Stored);
        fs::write(&file, b"").unwrap();
        assert_eq!(compile(&cache, &engine), CacheUse::Stored);
        assert_eq!(compile(&cache, &engine), CacheUse::Hit);
    }

    #[test]
    fn code_that_another_user_could_have_written_is_never_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let cache_folder = folder.path().join("cache");
        let cache = ComponentCache::new(&cache_folder);
        let engine = PluginEngine::new(1).unwrap();
        compile(&cache, &engine);
        let file = only_file(&cache_folder);

        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(compile(&cache, &engine), CacheUse::Stored);

        fs::set_permissions(&cache_folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(compile(&cache, &engine), CacheUse::NotKept);
        fs::set_permissions(&cache_folder, fs::Permissions::from_mode(0o700)).unwrap();

        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
        assert_eq!(compile(&cache, &engine), CacheUse::Stored);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
            assert_eq!(compile(&cache, &engine), CacheUse::Stored);
        }
    }

    #[test]
    fn two_hosts_may_compile_the_same_component_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ComponentCache::new(folder.path().join("cache"));
        let engine = PluginEngine::new(1).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..8 {
                        assert_ne!(compile(&cache, &engine), CacheUse::NotKept);
                    }
                });
            }
        });
        assert_eq!(compile(&cache, &engine), CacheUse::Hit);
        only_file(&folder.path().join("cache"));
    }
}
