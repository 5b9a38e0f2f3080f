//! A host in a process of its own, which a test can give things to and kill.
//!
//! A test binary that uses it has the test
//! `#[test] #[ignore] fn a_host_of_its_own() { common::host::main() }`.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use keepsake_sandbox::{ExecEvent, LocalBackend, LocalOptions, SandboxBackend, SandboxRequest};

const ROOT: &str = "KEEPSAKE_TEST_HOST_ROOT";
const LINE: &str = "KEEPSAKE_TEST_HOST_LINE";
const ISOLATED: &str = "KEEPSAKE_TEST_HOST_ISOLATED";

/// What the other process does: it runs a command in a sandbox and passes its
/// output on. It uses standard error, as the test harness writes to the other.
pub(crate) fn main() {
    let (Ok(root), Ok(line)) = (std::env::var(ROOT), std::env::var(LINE)) else {
        // Nobody started it as a host.
        return;
    };
    let isolated = std::env::var_os(ISOLATED).is_some();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let backend = LocalBackend::new(LocalOptions {
            root: Some(root.into()),
            allow_unisolated: !isolated,
            bwrap: (!isolated).then(|| "/nowhere/bwrap".into()),
        });
        let sandbox = backend.create(SandboxRequest::default()).await.unwrap();
        let mut execution = sandbox
            .start(keepsake_sandbox::Command::new(line))
            .await
            .unwrap();
        while let Some(event) = execution.next().await.unwrap() {
            if let ExecEvent::Stdout(bytes) | ExecEvent::Stderr(bytes) = event {
                std::io::stderr().write_all(&bytes).unwrap();
            }
        }
        sandbox.close().await.unwrap();
    });
}

/// Such a process. Dropping it kills it.
pub(crate) struct Host {
    child: Child,
    output: BufReader<ChildStderr>,
}

impl Host {
    /// Starts one that runs a command.
    pub(crate) fn start(root: &Path, isolated: bool, line: &str) -> Self {
        Self::start_with(root, isolated, line, &[])
    }

    /// The same with more variables in its environment.
    pub(crate) fn start_with(
        root: &Path,
        isolated: bool,
        line: &str,
        environment: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["a_host_of_its_own", "--exact", "--ignored", "--nocapture"])
            .env(ROOT, root)
            .env(LINE, line)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if isolated {
            command.env(ISOLATED, "1");
        }
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stderr.take().unwrap());
        Self { child, output }
    }

    /// Waits until it has passed on a line with this text.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let mut seen = String::new();
        while !seen.contains(text) {
            let read = self.output.read_line(&mut seen).unwrap();
            assert_ne!(read, 0, "the host ended after: {seen}");
        }
    }

    /// All that it passes on until it ends.
    pub(crate) fn rest(mut self) -> String {
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        String::from_utf8_lossy(&rest).into_owned()
    }

    /// Kills it without a chance to clean up.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes of this machine whose command line holds a text.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            String::from_utf8_lossy(&line).contains(text).then_some(id)
        })
        .collect()
}

/// Waits for something that happens soon, and for a minute on a machine that
/// has much to do.
pub(crate) fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
