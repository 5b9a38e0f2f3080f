//! Sandboxes on this machine, isolated with bubblewrap.

mod account;
mod bubblewrap;
mod copy;
mod execution;
mod files;
mod home;
mod launch;
mod processes;
mod removal;
mod sandbox;
mod seccomp;
mod spawner;
mod supervise;
mod tree;

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rustix::process::geteuid;
use tokio::sync::OnceCell;

use self::bubblewrap::Bubblewrap;
use self::sandbox::{LocalSandbox, blocking};
use self::spawner::Spawner;
use crate::paths::WORK;
use crate::{
    BackendReport, Command, ExitStatus, Sandbox, SandboxBackend, SandboxError, SandboxRequest,
};

/// How the local backend is set up.
#[derive(Clone, Debug, Default)]
pub struct LocalOptions {
    /// The `bwrap` to use; otherwise the one on the search path.
    pub bwrap: Option<PathBuf>,
    /// Where isolation is not possible, run commands without it.
    pub allow_unisolated: bool,
    /// Where the sandboxes' files are. The directory is made where it is
    /// missing, and must belong to the host's user. A host that runs as root
    /// opens it for passing through (mode 711), as its sandboxes run under
    /// other accounts; all directories above must let them pass, too.
    /// Otherwise a directory of the user's in `TMPDIR`, `/var/tmp` or `/tmp`.
    pub root: Option<PathBuf>,
}

/// Sandboxes on this machine.
///
/// Every command runs in namespaces of its own, made by bubblewrap: it sees
/// `/usr`, its work directory `/work`, a `/tmp` that lasts as long as the
/// command, and nothing else of the host: no files, processes, variables,
/// open files or network. It has no rights beyond its account's, which is
/// never root's. All that a command started ends with it, and all commands
/// end with the host, however the host ends.
///
/// # Bounds
/// The system enforces, at every moment: open files, the size of each file, the
/// bytes in `/tmp` and `/dev/shm`, the address space of one process, and that no
/// memory lies in files without a name, System V segments or queues, which are
/// refused (`memfd_create`, `shmget`, `msgget`).
///
/// The host looks from time to time, and ends what exceeds: the memory of all
/// processes together and their number (every 25 ms), and the bytes and entries
/// of the work directory (every 100 ms, and after each command). So that it can
/// tell which limit a command hit, the system's own bounds are wider: one
/// process can write to twice the memory, and a command can have 16 processes
/// and threads more (on Linux before 5.14: all those of one account). Between
/// two looks a command can exceed the limits on the work directory by what the
/// machine writes in that time. What the system keeps for pipes and sockets is
/// not counted. Processor time per command is bounded by its wall time only,
/// and what metrics tell of it is a lower bound.
///
/// Bounds on processes and memory are for each command; commands that run in
/// one sandbox at once (`limits::SANDBOX_EXECUTIONS`) have them each.
///
/// # Without isolation
/// Where [`LocalOptions::allow_unisolated`] is set and bubblewrap is missing or
/// not permitted, commands run as plain processes of the host's user, in the
/// work directory's real place, with the same time limits, outputs and file
/// operations. Nothing keeps them from the rest of the machine.
/// [`Sandbox::isolated`] and [`BackendReport::isolated`] tell so.
pub struct LocalBackend {
    shared: Arc<Shared>,
}

struct Shared {
    options: LocalOptions,
    spawner: Spawner,
    isolation: OnceCell<Isolation>,
}

/// How commands are kept apart.
#[derive(Clone, Debug)]
enum Isolation {
    Bubblewrap(Bubblewrap),
    /// They are not.
    None {
        /// Why not.
        reason: String,
    },
}

impl LocalBackend {
    /// A backend with these options. It looks for nothing yet: what is missing
    /// is told when a sandbox is wanted, and leftovers are removed then.
    #[must_use]
    pub fn new(options: LocalOptions) -> Self {
        Self {
            shared: Arc::new(Shared {
                options,
                spawner: Spawner::new(),
                isolation: OnceCell::new(),
            }),
        }
    }

    /// Removes what hosts that were killed left behind, and answers how many
    /// sandboxes that were. Sandboxes of hosts that run are left alone. A
    /// backend begins to do so by itself once its first sandbox is wanted.
    ///
    /// # Errors
    /// When a leftover cannot be removed.
    pub async fn sweep(&self) -> Result<usize, SandboxError> {
        let root = self.shared.root()?;
        blocking(move || home::sweep(&root)).await
    }

    async fn isolation(&self) -> Result<Isolation, SandboxError> {
        self.shared
            .isolation
            .get_or_try_init(|| async {
                let found = self.find_isolation().await?;
                // Once for each backend, and beside its work: there may be much.
                let root = self.shared.root()?;
                tokio::spawn(blocking(move || {
                    if let Err(error) = home::sweep(&root) {
                        tracing::warn!(%error, "what a killed host left behind stays");
                    }
                    Ok(())
                }));
                Ok(found)
            })
            .await
            .cloned()
    }

    /// Finds out by trying: whether namespaces are permitted depends on too
    /// many settings to ask for each.
    async fn find_isolation(&self) -> Result<Isolation, SandboxError> {
        let error = match self.try_bubblewrap().await {
            Ok(bubblewrap) => return Ok(Isolation::Bubblewrap(bubblewrap)),
            Err(error) => error,
        };
        let replaceable = matches!(
            error,
            SandboxError::Missing
                | SandboxError::NotPermitted { .. }
                | SandboxError::Unsupported { .. }
        );
        if !self.shared.options.allow_unisolated || !replaceable {
            return Err(error);
        }
        tracing::warn!(reason = %error, "commands run without isolation, as the configuration allows");
        Ok(Isolation::None {
            reason: error.to_string(),
        })
    }

    async fn try_bubblewrap(&self) -> Result<Bubblewrap, SandboxError> {
        let bubblewrap = Bubblewrap::find(self.shared.options.bwrap.as_deref()).await?;
        let isolation = Isolation::Bubblewrap(bubblewrap.clone());
        self.try_command(isolation).await?;
        Ok(bubblewrap)
    }

    /// Runs a command in a sandbox of its own.
    async fn try_command(&self, isolation: Isolation) -> Result<(), SandboxError> {
        let backend = Arc::clone(&self.shared);
        let sandbox = LocalSandbox::create(backend, isolation, SandboxRequest::default()).await?;
        let result = sandbox.exec(Command::new("echo works")).await;
        // Also where it failed, so that nothing is left when that is told.
        sandbox.close().await?;
        let result = result?;
        if result.status == ExitStatus::Code(0) && result.stdout == b"works\n" {
            return Ok(());
        }
        Err(SandboxError::Unavailable {
            message: format!(
                "a sandbox was made, but `echo works` ended with {:?}, and said `{}`",
                result.status,
                String::from_utf8_lossy(&result.stderr).escape_debug()
            ),
            retry_after: None,
        })
    }
}

#[async_trait]
impl SandboxBackend for LocalBackend {
    fn name(&self) -> &'static str {
        "local"
    }

    async fn create(&self, request: SandboxRequest) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let isolation = self.isolation().await?;
        let backend = Arc::clone(&self.shared);
        Ok(Arc::new(
            LocalSandbox::create(backend, isolation, request).await?,
        ))
    }

    async fn check(&self) -> Result<BackendReport, SandboxError> {
        let isolation = self.isolation().await?;
        self.try_command(isolation.clone()).await?;
        let mut notes = Vec::new();
        let (isolated, engine) = match isolation {
            Isolation::None { reason } => {
                notes.push(format!(
                    "commands run as the host's user, without isolation: {reason}"
                ));
                (false, "sh".to_owned())
            }
            Isolation::Bubblewrap(bubblewrap) => {
                if !bubblewrap.forbids_namespaces {
                    notes.push(
                        "this bubblewrap cannot keep commands from making namespaces of their \
                         own; version 0.8 can"
                            .into(),
                    );
                }
                (true, bubblewrap.version)
            }
        };
        Ok(BackendReport {
            backend: self.name(),
            isolated,
            engine,
            notes,
        })
    }
}

impl Shared {
    /// The directory for all sandboxes, made and checked.
    fn root(&self) -> Result<PathBuf, SandboxError> {
        let path = self.options.root.clone().unwrap_or_else(default_root);
        let shown = path.display();
        let failed = || SandboxError::io(format!("cannot use {shown} for sandboxes"));
        let us = geteuid();
        let mode = if us.is_root() { 0o711 } else { 0o700 };
        make_directories(&path, mode).map_err(failed())?;
        // The default one is where others may have put something first.
        let found = fs::symlink_metadata(&path).map_err(failed())?;
        if !found.is_dir() || found.uid() != us.as_raw() || found.mode() & 0o022 != 0 {
            return Err(SandboxError::invalid(format!(
                "{shown} cannot be used for sandboxes: it must be a directory that belongs to the \
                 host's user and that nobody else can write to; remove it, or set another one"
            )));
        }
        let path = fs::canonicalize(&path).map_err(failed())?;
        if us.is_root() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o711)).map_err(failed())?;
            check_passable(&path)?;
        }
        Ok(path)
    }
}

/// Makes a directory and those that are missing above it, with exactly this
/// mode, whatever the host's umask is. One that is there stays as it is.
fn make_directories(path: &Path, mode: u32) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_directories(above, mode)?;
    }
    match fs::DirBuilder::new().mode(mode).create(path) {
        // Another host was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(mode)),
    }
}

/// A host that runs as root runs sandboxes under accounts that must reach
/// their directories.
fn check_passable(path: &Path) -> Result<(), SandboxError> {
    for above in path.ancestors() {
        let mode = fs::metadata(above)
            .map_err(SandboxError::io(format!(
                "cannot look at {}",
                above.display()
            )))?
            .mode();
        if mode & 0o001 == 0 {
            return Err(SandboxError::invalid(format!(
                "{} cannot be used for sandboxes: the host runs as root and its sandboxes under \
                 other accounts, which cannot pass {}; use another directory, or allow it with \
                 `chmod o+x {}`",
                path.display(),
                above.display(),
                above.display()
            )));
        }
    }
    Ok(())
}

/// A directory of this user's for what is not kept. `/var/tmp` before `/tmp`,
/// which often is memory.
fn default_root() -> PathBuf {
    let place = env::var_os("TMPDIR")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from("/var/tmp")).filter(|path| path.is_dir()))
        .unwrap_or_else(env::temp_dir);
    place.join(format!("keepsake-sandboxes-{}", geteuid().as_raw()))
}
