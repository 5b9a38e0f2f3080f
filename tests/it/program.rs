//! Runs the program in folders of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// No run of the program takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(180);

/// The program under test.
pub(crate) fn executable() -> &'static str {
    env!("CARGO_BIN_EXE_host")
}

/// A folder to run the program in, removed at the end of the test.
pub(crate) struct Folder {
    folder: TempDir,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    /// An empty folder: no configuration, no data.
    pub(crate) fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    /// An empty folder within another.
    pub(crate) fn below(folder: &Path) -> Self {
        Self {
            folder: TempDir::new_in(folder).unwrap(),
        }
    }

    /// A folder with this `host.toml`.
    pub(crate) fn configured(toml: &str) -> Self {
        let folder = Self::new();
        folder.write("host.toml", toml);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path().join(".keepsake/keepsake.db")
    }

    /// Writes a file into the folder and answers with its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// The program, to be started in this folder. Nothing of the machine's
    /// own configuration reaches it. Compiled components are shared by all
    /// tests, which often run at once.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(executable());
        command
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HOST_") {
                command.env_remove(name);
            }
        }
        command.env_remove("RUST_LOG").env(
            "HOST_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("components"),
        );
        command
    }

    /// The support agent on a conversation with Jordan, without a sandbox.
    pub(crate) fn support(&self, more: &[&str]) -> Command {
        let mut command = self.command(&["run", "support-agent", "--resource", "jordan"]);
        command.args(["--sandbox", "none"]).args(more);
        command
    }

    /// Runs the program to its end.
    pub(crate) fn host(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments).spawn().unwrap())
    }

    /// Runs the program with these bytes on its standard input.
    pub(crate) fn host_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        finish_with_input(self.command(arguments), input)
    }

    /// One message to an agent.
    pub(crate) fn say(&self, agent: &str, message: &str, more: &[&str]) -> Ran {
        let mut arguments = vec!["run", agent, "--message", message];
        arguments.extend(more);
        self.host(&arguments)
    }

    /// One message to the agent that does what it is told.
    pub(crate) fn unruly(&self, message: &str) -> Ran {
        self.say(
            keepsake_test_artifacts::UNRULY_AGENT,
            message,
            &["--resource", "jordan"],
        )
    }

    /// The payload of each ledger entry of this kind, oldest first.
    pub(crate) fn entries(&self, kind: &str) -> Vec<Value> {
        let all = self.host(&["ledger", "show", "--json"]).succeeded().json();
        all["entries"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["kind"] == kind)
            .cloned()
            .collect()
    }

    /// The texts of the facts that a question brings by vectors alone, best first.
    pub(crate) fn recalled_by_vectors(&self, query: &str, more: &[&str]) -> Vec<String> {
        let mut arguments = vec![
            "memory",
            "recall",
            "--resource",
            "jordan",
            "--mode",
            "vectors",
            "--json",
            query,
        ];
        arguments.extend(more);
        let found = self.host(&arguments).succeeded().json();
        found["facts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fact| fact["content"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The facts that are remembered of a customer.
    pub(crate) fn facts(&self, resource: &str) -> Vec<Value> {
        let list = self
            .host(&["memory", "list", "--resource", resource, "--json"])
            .succeeded()
            .json();
        list["facts"].as_array().unwrap().clone()
    }
}

impl Ran {
    /// Panics with all that was said unless the run succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Panics unless the run failed with this exit code and said each of
    /// these on standard error, and nothing that only a developer of the
    /// program could want to read.
    #[track_caller]
    pub(crate) fn failed(self, code: i32, said: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        for said in said {
            assert!(
                self.stderr.contains(said),
                "{said:?} is not said: {self:#?}"
            );
        }
        for inside in [
            "Error {",
            "panicked at host",
            "panicked at 'host",
            "unwrap()",
        ] {
            assert!(
                !self.stderr.contains(inside),
                "{inside:?} is said: {self:#?}"
            );
        }
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("it is no JSON document, {error}: {self:#?}"))
    }
}

/// Runs a command to its end with these bytes on its standard input.
pub(crate) fn finish_with_input(mut command: Command, input: &[u8]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The program may end before it has read all.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let ran = finish(child);
    writer.join().unwrap();
    ran
}

/// Waits for the end, and kills what hangs.
pub(crate) fn finish(mut child: Child) -> Ran {
    let stdout = child.stdout.take().map(read_all);
    let stderr = child.stderr.take().map(read_all);
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the program hangs");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |reader: Option<thread::JoinHandle<Vec<u8>>>| {
        let bytes = reader
            .map(|reader| reader.join().unwrap())
            .unwrap_or_default();
        String::from_utf8(bytes).expect("the program prints UTF-8")
    };
    Ran {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    }
}

fn read_all(mut from: impl std::io::Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    })
}
