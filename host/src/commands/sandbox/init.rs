//! `host sandbox init`: an OpenSandbox server on this machine, set up once.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use keepsake_client::Credential;
use keepsake_sandbox::{KEY_HEADER, OpenSandboxBackend, OpenSandboxOptions};
use serde_json::json;

use super::engine::{Engine, on_path};
use super::server::{Place, cannot};
use super::settings::{Wanted, server_toml, write_host_toml};
use crate::app::App;
use crate::cli::InitArguments;
use crate::config::FILE_NAME;
use crate::failure::{ExitCode, Failure};
use crate::{output, progress};

/// The version that this host was tested with.
const SERVER: &str = "opensandbox-server==1.1.1";
/// How long the server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn init(
    app: &App,
    place: &Place,
    arguments: InitArguments,
    json: bool,
) -> Result<(), Failure> {
    let url = format!("http://127.0.0.1:{}", arguments.port);
    place.make()?;
    let key = place.key()?;
    let mut options = OpenSandboxOptions::new(url.as_str(), arguments.image.as_str());
    let credential = Credential::new("the key file", &key, Some(KEY_HEADER));
    options.key =
        Some(credential.map_err(|error| Failure::new(ExitCode::Usage, error.to_string()))?);
    let backend = OpenSandboxBackend::new(options)?;

    let runs = place.running().is_some() && backend.list().await.is_ok();
    if !runs {
        start(place, &arguments, &key)?;
        wait(place, &backend, &url).await?;
    }
    let file = app.config.file.clone();
    let file = file.unwrap_or_else(|| app.config.sandbox.base.join(FILE_NAME));
    let key_file = place.key_file();
    let relative = file
        .parent()
        .and_then(|folder| key_file.strip_prefix(folder).ok())
        .unwrap_or(&key_file);
    let wrote = write_host_toml(
        &file,
        &Wanted {
            url: &url,
            key_file: relative,
            image: &arguments.image,
            enforce_network: !arguments.no_egress,
        },
    )?;
    if json {
        return output::json(&json!({
            "url": url, "started": !runs, "configuration": file, "changed": wrote,
        }));
    }
    if runs && !wrote {
        output::note!(
            "an OpenSandbox server answers at {url} and {} says so: nothing to do",
            file.display()
        );
        return Ok(());
    }
    if wrote {
        output::note!("wrote {}: sandboxes come from {url}", file.display());
    }
    output::note!("`host doctor` runs a command in one; `host sandbox down` stops the server");
    Ok(())
}

fn start(place: &Place, arguments: &InitArguments, key: &str) -> Result<(), Failure> {
    // What is left of an earlier start would hold the port.
    if let Some(running) = place.running() {
        running.stop()?;
    }
    let engine = Engine::find(arguments.engine)?;
    output::note!("found {}", engine.words());
    let program = server_program(place)?;
    check_port(arguments.port)?;
    let configuration = place.file("server.toml");
    write_for_us_alone(
        &configuration,
        &server_toml(arguments, key, &place.file("server.db")),
    )?;
    let mut server = Command::new(program);
    server.arg("--config").arg(&configuration);
    if let Engine::Podman { .. } = engine {
        let socket = podman_socket(place)?;
        let address = format!("unix://{}", socket.display());
        place.start(
            Command::new("podman")
                .args(["system", "service", "--time=0"])
                .arg(&address),
        )?;
        server.env("DOCKER_HOST", address);
        wait_for_file(&socket)?;
    }
    output::note!("starting the server");
    place.start(&mut server)
}

/// The server as it is installed, or installed now beside the data.
fn server_program(place: &Place) -> Result<PathBuf, Failure> {
    if let Some(installed) = on_path("opensandbox-server") {
        return Ok(installed);
    }
    let venv = place.file("venv");
    let program = venv.join("bin/opensandbox-server");
    if program.is_file() {
        return Ok(program);
    }
    let python = venv.join("bin/python");
    let mut steps: Vec<Command> = Vec::new();
    let mut step = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments);
        steps.push(command);
    };
    let (venv_text, python_text) = (venv.to_string_lossy(), python.to_string_lossy());
    if let Some(uv) = on_path("uv") {
        step(&uv, &["venv", "--quiet", &venv_text]);
        step(
            &uv,
            &[
                "pip",
                "install",
                "--quiet",
                "--python",
                &python_text,
                SERVER,
            ],
        );
    } else if let Some(python3) = on_path("python3") {
        step(&python3, &["-m", "venv", &venv_text]);
        step(
            &python,
            &[
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                SERVER,
            ],
        );
    } else {
        return Err(Failure::new(
            ExitCode::Other,
            format!(
                "the server needs Python: install `uv` or `python3` with `python3-venv`, or the server itself (`pip install {SERVER}`)"
            ),
        ));
    }
    output::note!("installing {SERVER} into {}", venv.display());
    let _working = progress::after_a_moment("installing the server");
    for mut step in steps {
        let ran = step.output().map_err(|error| {
            Failure::new(
                ExitCode::Other,
                format!("{:?} cannot be run: {error}", step.get_program()),
            )
        })?;
        if !ran.status.success() {
            return Err(Failure::new(
                ExitCode::Other,
                format!(
                    "the server could not be installed ({:?} {}); check the network, or install it with `pip install {SERVER}`",
                    step.get_program(),
                    ran.status
                ),
            )
            .with_details(output::printable(&String::from_utf8_lossy(&ran.stderr))));
        }
    }
    Ok(program)
}

fn check_port(port: u16) -> Result<(), Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map(drop)
        .map_err(|error| {
            Failure::new(
                ExitCode::Other,
                format!("port {port} cannot be used ({error}); choose another one with --port"),
            )
        })
}

/// A short path: a socket's has 108 bytes at the most, and a data folder may
/// lie deep.
fn podman_socket(place: &Place) -> Result<PathBuf, Failure> {
    let name = format!("keepsake-{}", uuid::Uuid::now_v7().simple());
    let folder = std::env::temp_dir().join(name);
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .map_err(|error| cannot("make", &folder, &error))?;
    // For whoever wonders what the folder is.
    let note = place.file("podman-socket");
    let socket = folder.join("podman.sock");
    write_for_us_alone(&note, &format!("{}\n", socket.display()))?;
    Ok(socket)
}

fn wait_for_file(path: &Path) -> Result<(), Failure> {
    let asked = Instant::now();
    while !path.exists() {
        if asked.elapsed() > PATIENCE {
            return Err(Failure::new(
                ExitCode::Other,
                "podman does not serve its socket; `host sandbox logs` shows why",
            ));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn write_for_us_alone(path: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    // Made anew, so that the mode is right whatever was there.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(cannot("replace", path, &error));
        }
        _ => {}
    }
    std::fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| cannot("write", path, &error))
}

/// Waits until the server answers and takes the key.
async fn wait(place: &Place, backend: &OpenSandboxBackend, url: &str) -> Result<(), Failure> {
    let _working = progress::after_a_moment("waiting for the server");
    let asked = Instant::now();
    loop {
        let Err(error) = backend.list().await else {
            output::note!("the server answers at {url}");
            return Ok(());
        };
        let gone = place.running().is_none();
        if gone || asked.elapsed() > PATIENCE {
            let log = place.newest_log().unwrap_or_default();
            let lines: Vec<_> = log.lines().rev().take(20).collect();
            let last: Vec<_> = lines.into_iter().rev().collect();
            let what = if gone { "ended" } else { "does not answer" };
            return Err(Failure::new(
                ExitCode::Other,
                format!("the server {what}: {error}; `host sandbox logs` shows all it printed"),
            )
            .with_details(output::printable(&last.join("\n"))));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
