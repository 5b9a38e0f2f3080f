//! Finding bubblewrap, telling it what to do, and understanding why it did not.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::MemfdFlags;

use super::WORK;
use super::home::{Home, make_directory};
use crate::{Network, SandboxError, SandboxLimits};

/// Where the pipe for standard error is, within the sandbox.
pub(super) const RUN: &str = "/run/sandbox";
/// The account within the sandbox; what it is outside is another matter.
const INNER_ACCOUNT: &str = "1000";
/// Where programs are looked for.
pub(super) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What runs between bubblewrap and the command's own shell. Its standard
/// error is not the command's but a report to the host. It is given the command,
/// the directory, the bound on open files and the pipe for standard error, and
/// reports these lines:
///
/// - `limits`: it was let run without limits, and did not;
/// - `directory`: there is no such directory to run in;
/// - `started`: whatever follows is the command's doing;
/// - anything: the shell's words for the signal that ended the command, which
///   a code above 128 alone cannot tell from a command that chose the code;
/// - `ended`: it was not itself killed before it could tell.
///
/// The redirection stands within a subshell: some shells make it in their own
/// process first, and then say what they have to say to the command's output.
pub(super) const WRAPPER: &str = r#"
[ "$(ulimit -n)" = "$3" ] || { echo limits >&2; exit 125; }
cd -- "$2" 2>/dev/null || { echo directory >&2; exit 125; }
echo started >&2
(exec /bin/sh -c "$1" 2>"$4")
status=$?
echo ended >&2
exit $status
"#;

/// A bubblewrap that is there.
#[derive(Clone, Debug)]
pub(super) struct Bubblewrap {
    pub(super) program: PathBuf,
    /// What it says of itself, such as `bubblewrap 0.8.0`.
    pub(super) version: String,
    /// Whether it can forbid further namespaces (from version 0.8 on).
    pub(super) forbids_namespaces: bool,
}

impl Bubblewrap {
    /// The given program, or `bwrap` on the search path.
    pub(super) async fn find(given: Option<&Path>) -> Result<Self, SandboxError> {
        let program = match given {
            Some(path) => Some(path.to_owned()).filter(|path| is_program(path)),
            None => env::var_os("PATH").and_then(|path| {
                env::split_paths(&path)
                    .map(|directory| directory.join("bwrap"))
                    .find(|path| path.is_absolute() && is_program(path))
            }),
        }
        .ok_or(SandboxError::Missing)?;
        let version = output(&program, "--version").await?;
        let help = output(&program, "--help").await?;
        Ok(Self {
            program,
            version: version.trim().to_owned(),
            forbids_namespaces: help.contains("--disable-userns"),
        })
    }

    /// The arguments for one command, without the command.
    pub(super) fn arguments(&self, plan: &Plan<'_>) -> Vec<OsString> {
        let mut arguments = Arguments::default();
        // `--unshare-all` alone goes on without an account space where the
        // system refuses one; naming it makes that an error.
        arguments.add(["--unshare-all", "--unshare-user"]);
        if self.forbids_namespaces {
            arguments.add(["--disable-userns"]);
        }
        if plan.network == Network::Full {
            arguments.add(["--share-net"]);
        }
        arguments.add(["--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
        arguments.add(["--uid", INNER_ACCOUNT, "--gid", INNER_ACCOUNT]);
        arguments.add(["--hostname", "sandbox", "--clearenv"]);
        for (name, value) in plan.environment {
            arguments.add(["--setenv", name, value]);
        }

        arguments.add(["--ro-bind", "/usr", "/usr"]);
        for directory in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
            match fs::read_link(directory) {
                Ok(target) => {
                    arguments.add(["--symlink"]);
                    arguments.0.push(target.into());
                    arguments.add([directory]);
                }
                Err(_) if Path::new(directory).is_dir() => {
                    arguments.add(["--ro-bind", directory, directory]);
                }
                Err(_) => {}
            }
        }
        arguments.bind("--ro-bind", &plan.home.etc, "/etc");
        for file in shared_files(plan.network) {
            arguments.add(["--ro-bind", file, file]);
        }
        arguments.add(["--proc", "/proc", "--dev", "/dev"]);
        let temporary = plan.limits.temporary_bytes.max(4096).to_string();
        arguments.add(["--size", &temporary, "--tmpfs", "/dev/shm"]);
        arguments.add(["--size", &temporary, "--tmpfs", "/tmp"]);
        arguments.bind("--bind", &plan.home.work, WORK);
        arguments.bind("--ro-bind", plan.run, RUN);
        // The two are memory without a bound, and belong to the sandbox's account.
        arguments.add(["--remount-ro", "/dev", "--remount-ro", "/"]);
        arguments.add(["--chdir", WORK]);

        for (option, descriptor) in plan.descriptors {
            arguments.add([*option, &descriptor.as_raw_fd().to_string()]);
        }
        arguments.0
    }

    /// What its failure means, by its own words.
    pub(super) fn failure(&self, words: &str) -> SandboxError {
        explain(words, |setting| {
            fs::read_to_string(Path::new("/proc/sys").join(setting)).ok()
        })
    }
}

/// What one command's sandbox is made of.
pub(super) struct Plan<'p> {
    pub(super) home: &'p Home,
    /// The directory with the pipe for standard error.
    pub(super) run: &'p Path,
    pub(super) network: Network,
    pub(super) limits: &'p SandboxLimits,
    pub(super) environment: &'p [(String, String)],
    /// Options that take an open file.
    pub(super) descriptors: &'p [(&'static str, &'p OwnedFd)],
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const N: usize>(&mut self, arguments: [&str; N]) {
        self.0.extend(arguments.map(OsString::from));
    }

    fn bind(&mut self, option: &str, from: &Path, to: &str) {
        self.add([option]);
        self.0.push(from.into());
        self.add([to]);
    }
}

/// Content as an open file, for options that read one. Arguments go this way
/// too: the command line of a process can be read by everybody, and variables
/// are nobody's business.
pub(super) fn in_memory(content: &[u8]) -> Result<OwnedFd, SandboxError> {
    let failed = "cannot keep a sandbox's arguments in memory";
    let file = rustix::fs::memfd_create("sandbox", MemfdFlags::CLOEXEC)
        .map_err(SandboxError::errno(failed))?;
    let mut file = fs::File::from(file);
    file.write_all(content)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .map_err(SandboxError::io(failed))?;
    Ok(file.into())
}

/// What of the host's `/etc` is shown: where libraries are, which program a
/// name stands for, and with a network its names and certificates.
fn shared_files(network: Network) -> Vec<&'static str> {
    let mut files = vec!["/etc/ld.so.cache", "/etc/alternatives"];
    if network == Network::Full {
        files.extend([
            "/etc/resolv.conf",
            "/etc/ssl/certs",
            "/etc/ca-certificates",
            "/etc/pki/tls/certs",
            "/etc/pki/ca-trust",
        ]);
    }
    files.retain(|file| Path::new(file).exists());
    files
}

/// Makes the sandbox's own `/etc`.
pub(super) fn make_etc(etc: &Path, network: Network) -> Result<(), SandboxError> {
    let write = |name: &str, content: &str| {
        let path = etc.join(name);
        fs::write(&path, content)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o644)))
            .map_err(SandboxError::io(format!("cannot write {}", path.display())))
    };
    write(
        "passwd",
        "sandbox:x:1000:1000:sandbox:/work:/bin/sh\n\
         nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    )?;
    write("group", "sandbox:x:1000:\nnogroup:x:65534:\n")?;
    write("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n")?;
    write("hostname", "sandbox\n")?;
    write(
        "nsswitch.conf",
        "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n",
    )?;
    // What is shown of the host's is mounted over these.
    for file in shared_files(network) {
        let inner = file.trim_start_matches("/etc/");
        if !Path::new(file).is_dir() {
            write(inner, "")?;
            continue;
        }
        let mut path = etc.to_owned();
        for part in Path::new(inner).components() {
            path.push(part);
            if !path.exists() {
                make_directory(&path, 0o755)?;
            }
        }
    }
    Ok(())
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

async fn output(program: &Path, argument: &str) -> Result<String, SandboxError> {
    let output = tokio::process::Command::new(program)
        .arg(argument)
        .env_clear()
        .kill_on_drop(true)
        .output()
        .await
        .map_err(SandboxError::io(format!(
            "cannot run `{}`",
            program.display()
        )))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn explain(words: &str, setting: impl Fn(&str) -> Option<String>) -> SandboxError {
    let words: String = words
        .trim()
        .chars()
        .filter(|one| !one.is_control() || *one == '\n')
        .take(1_000)
        .collect();
    let refused = [
        "namespace",
        "uid map",
        "gid map",
        "No permissions",
        "Operation not permitted",
    ]
    .iter()
    .any(|sign| words.contains(sign));
    if !refused {
        return SandboxError::Unavailable {
            message: if words.is_empty() {
                "bubblewrap ended before the command began, and did not say why".into()
            } else {
                format!("bubblewrap could not make the sandbox: {words}")
            },
            retry_after: None,
        };
    }
    let is = |name: &str, value: &str| setting(name).is_some_and(|text| text.trim() == value);
    let advice = if is("user/max_user_namespaces", "0") {
        "user namespaces are turned off; allow them with `sysctl user.max_user_namespaces=10000`"
    } else if is("kernel/unprivileged_userns_clone", "0") {
        "user namespaces are for root only; allow them with \
         `sysctl kernel.unprivileged_userns_clone=1`"
    } else if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "AppArmor keeps user namespaces from programs without a profile; allow them with \
         `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or give bwrap a profile with \
         the rule `userns,`"
    } else {
        "the host seems to run in a container or under a security module that forbids user \
         namespaces; allow them there (Docker: `--security-opt seccomp=unconfined \
         --security-opt apparmor=unconfined --security-opt systempaths=unconfined`)"
    };
    SandboxError::NotPermitted {
        reason: format!("{advice} (bubblewrap said: {words})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_forbid_namespaces_is_told_with_the_setting_that_allows_them() {
        let words = "bwrap: No permissions to create new namespace, likely because the kernel does not allow";
        for (file, value, advice) in [
            (
                "user/max_user_namespaces",
                "0\n",
                "user.max_user_namespaces=10000",
            ),
            (
                "kernel/unprivileged_userns_clone",
                "0\n",
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                "kernel/apparmor_restrict_unprivileged_userns",
                "1\n",
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            ("none", "", "container"),
        ] {
            let error = explain(words, |name| (name == file).then(|| value.to_owned()));
            assert!(
                matches!(error, SandboxError::NotPermitted { .. }),
                "{error}"
            );
            assert!(error.to_string().contains(advice), "{error}");
        }
    }

    #[test]
    fn another_failure_is_told_in_bubblewraps_words() {
        let error = explain(
            "bwrap: Can't find source path /nowhere: No such file\n",
            |_| None,
        );
        assert!(matches!(error, SandboxError::Unavailable { .. }), "{error}");
        assert!(
            error
                .to_string()
                .contains("Can't find source path /nowhere"),
            "{error}"
        );
    }
}
