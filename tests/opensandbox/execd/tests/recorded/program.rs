//! The program under test: a process with an environment and folders of its own.

use crate::http::{self, Answer, Open};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A running stand-in. It is ended when this is dropped.
pub(crate) struct Program {
    process: Child,
    address: String,
    scratch: TempDir,
}

impl Program {
    /// Starts the program on a free port, where the recordings had it: in `/`,
    /// with the home `/root`, and with `FOO` and an id in its environment.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        for folder in ["data", "tmp"] {
            let folder = scratch.path().join(folder);
            std::fs::create_dir(&folder).expect("a folder");
            let open = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&folder, open).expect("a folder that others may read");
        }
        let mut process = Command::new(env!("CARGO_BIN_EXE_execd"))
            .args(["--listen", "127.0.0.1:0"])
            .args(arguments)
            .current_dir("/")
            .env_remove("EXECD_ACCESS_TOKEN")
            .env("FOO", "bar")
            .env("LC_ALL", "C")
            .env("OPENSANDBOX_ID", "6f334c42-9633-4ec0-99fc-7d775de544b6")
            .env("EXECD_ENVS", scratch.path().join("env"))
            .env("TMPDIR", scratch.path().join("tmp"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("its first line");
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("the program said {line:?}, not where it listens"))
            .to_owned();
        Self {
            process,
            address,
            scratch,
        }
    }

    /// What stands for the folder `/data` of the recordings.
    pub(crate) fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    /// The folder of all that this program writes.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Runs a command in the folder for `/data`.
    pub(crate) fn shell(&self, command: &str) {
        let status = Command::new("sh")
            .args(["-c", command])
            .current_dir(self.data())
            .status()
            .expect("a shell");
        assert!(status.success(), "{command} failed");
    }

    pub(crate) async fn send(&self, request: &Request<Full<Bytes>>) -> Answer {
        http::send(&self.address, request.clone()).await
    }

    /// Sends a request whose answer has no end, and listens for a time.
    pub(crate) async fn send_for(&self, request: &Request<Full<Bytes>>, time: Duration) -> Answer {
        let answer = http::open(&self.address, request.clone()).await;
        answer.whole(time).await
    }

    /// The status of a GET.
    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::get(path).header("Host", "sandbox");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::default()).expect("a request");
        http::open(&self.address, request).await.status()
    }

    /// Begins a command and hands on its stream.
    pub(crate) async fn open_command(&self, body: &str) -> Open {
        let request = Request::post("/command")
            .header("Host", "sandbox")
            .header("Content-Type", "application/json")
            .body(Full::from(body.to_owned()))
            .expect("a request");
        http::open(&self.address, request).await
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Already ended is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
