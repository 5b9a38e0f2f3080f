//! The server that `host sandbox init` starts: its files in the data folder,
//! and its processes.
//!
//! ```text
//! DATA/opensandbox/key           the API key, for this user alone
//! DATA/opensandbox/server.toml   the server's own configuration
//! DATA/opensandbox/server.log    what it and podman's service print
//! DATA/opensandbox/processes     their process ids
//! DATA/opensandbox/venv          the server, where it was not installed before
//! ```

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::{ExitCode, Failure};

/// What is shown of the log.
const LOG_BYTES: u64 = 64 * 1024;
/// How long a process may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the server's files lie.
pub(super) struct Place {
    folder: PathBuf,
}

/// The processes that were started, the server last.
pub(super) struct Running {
    processes: Vec<Process>,
    list: PathBuf,
}

/// A process, told by its start from a later one with the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    started: String,
}

impl Place {
    pub(super) fn new(data: &Path) -> Self {
        Self {
            folder: data.join("opensandbox"),
        }
    }

    /// Makes the folder, for this user alone.
    pub(super) fn make(&self) -> Result<(), Failure> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|error| cannot("make", &self.folder, &error))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn key_file(&self) -> PathBuf {
        self.file("key")
    }

    /// The key, made where there is none.
    pub(super) fn key(&self) -> Result<String, Failure> {
        let path = self.key_file();
        if let Ok(key) = fs::read_to_string(&path) {
            return Ok(key.trim().to_owned());
        }
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|error| {
            Failure::new(
                ExitCode::Other,
                format!("the system gives no random numbers for a key: {error}"),
            )
        })?;
        let key: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| writeln!(file, "{key}"))
            .map_err(|error| cannot("write", &path, &error))?;
        Ok(key)
    }

    /// Starts a process that outlives this one and prints into the log.
    pub(super) fn start(&self, command: &mut Command) -> Result<(), Failure> {
        let log_path = self.file("server.log");
        let log = File::options()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&log_path)
            .map_err(|error| cannot("write", &log_path, &error))?;
        let errors = log
            .try_clone()
            .map_err(|error| cannot("write", &log_path, &error))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            // Ctrl-C in this terminal is not for the server.
            .process_group(0)
            .spawn()
            .map_err(|error| {
                Failure::new(
                    ExitCode::Other,
                    format!("{:?} cannot be started: {error}", command.get_program()),
                )
            })?;
        let process = Process::of(child.id()).ok_or_else(|| {
            Failure::new(
                ExitCode::Other,
                format!(
                    "{:?} ended at once; {} says why",
                    command.get_program(),
                    log_path.display()
                ),
            )
        })?;
        let list = self.file("processes");
        File::options()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&list)
            .and_then(|mut file| writeln!(file, "{} {}", process.id, process.started))
            .map_err(|error| cannot("write", &list, &error))
    }

    /// What runs of the processes that were started; none when nothing does.
    pub(super) fn running(&self) -> Option<Running> {
        let list = self.file("processes");
        let text = fs::read_to_string(&list).ok()?;
        let processes: Vec<_> = text
            .lines()
            .filter_map(|line| {
                let (id, started) = line.split_once(' ')?;
                let noted = Process {
                    id: id.parse().ok()?,
                    started: started.to_owned(),
                };
                noted.runs().then_some(noted)
            })
            .collect();
        if processes.is_empty() {
            // Nobody needs the numbers of processes that are gone.
            let _ = fs::remove_file(&list);
            return None;
        }
        Some(Running { processes, list })
    }

    /// The end of the log; none where there is no log.
    pub(super) fn newest_log(&self) -> Option<String> {
        let mut file = File::open(self.file("server.log")).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES)))
            .ok()?;
        let mut bytes = Vec::new();
        file.take(LOG_BYTES).read_to_end(&mut bytes).ok()?;
        // The server colours what it prints.
        let text = String::from_utf8_lossy(&bytes);
        Some(anstream::adapter::strip_str(&text).to_string())
    }
}

impl Running {
    /// Ends the processes, the last one first, and waits until they are gone.
    pub(super) fn stop(self) -> Result<(), Failure> {
        for process in self.processes.iter().rev() {
            process.end()?;
        }
        fs::remove_file(&self.list).map_err(|error| cannot("delete", &self.list, &error))
    }
}

impl Process {
    /// A process that runs now.
    fn of(id: u32) -> Option<Self> {
        // The fields after the name, which may hold blanks and brackets: the
        // state is the first of them, the start of the process the twentieth.
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        if *fields.first()? == "Z" {
            return None;
        }
        Some(Self {
            id,
            started: (*fields.get(19)?).to_owned(),
        })
    }

    fn runs(&self) -> bool {
        Self::of(self.id).as_ref() == Some(self)
    }

    fn end(&self) -> Result<(), Failure> {
        for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
            if !self.runs() {
                return Ok(());
            }
            let id = i32::try_from(self.id)
                .ok()
                .and_then(rustix::process::Pid::from_raw);
            if let Some(id) = id {
                // One that has just ended needs no signal.
                let _ = rustix::process::kill_process(id, signal);
            }
            let asked = Instant::now();
            while self.runs() && asked.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        if self.runs() {
            return Err(Failure::new(
                ExitCode::Other,
                format!(
                    "process {} does not end; end it with `kill -9 {}`",
                    self.id, self.id
                ),
            ));
        }
        Ok(())
    }
}

pub(super) fn cannot(verb: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        ExitCode::Other,
        format!("cannot {verb} {}: {error}", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_started_is_found_and_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path());
        place.make().unwrap();
        assert!(place.running().is_none());
        place.start(Command::new("sleep").arg("1000")).unwrap();
        place.running().expect("it runs").stop().unwrap();
        assert!(place.running().is_none());
    }

    #[test]
    fn another_process_with_a_number_that_was_noted_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path());
        place.make().unwrap();
        let ours = std::process::id();
        fs::write(place.file("processes"), format!("{ours} 1\n")).unwrap();
        assert!(place.running().is_none());
        assert!(Process::of(ours).unwrap().runs());
    }

    #[test]
    fn a_key_is_made_once_and_for_this_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(folder.path());
        place.make().unwrap();
        let key = place.key().unwrap();
        assert_eq!(key.len(), 64);
        assert_eq!(place.key().unwrap(), key);
        let mode = fs::metadata(place.key_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
