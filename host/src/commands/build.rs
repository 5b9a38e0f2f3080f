//! `host build`: from a plugin's project to a component in its `dist` folder.

mod javascript;
mod project;
mod python;
mod rust;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::app::App;
use crate::commands::inspect;
use crate::config::PluginChoice;
use crate::failure::{ExitCode, Failure};
use crate::output::{self, note};
use project::{Language, Project};

pub(crate) fn run(app: &App, folder: &Path, json: bool) -> Result<(), Failure> {
    let project = Project::open(folder)?;
    let component = build(&project)?;
    let choice = PluginChoice {
        name: component.to_string_lossy().into_owned(),
        base: PathBuf::new(),
    };
    let report = app.plugins()?.load(&choice)?.report;
    if json {
        output::json(&serde_json::json!({ "component": component, "report": report }))?;
    } else {
        output::write(&format!(
            "wrote     {}\n{}",
            component.display(),
            inspect::text(&report)
        ))?;
    }
    if !report.runs_here {
        return Err(Failure::new(
            ExitCode::Plugin,
            "it was built, and would not run on this host; what it needs is listed above",
        ));
    }
    project.expect_kind(report.kind)
}

/// The component of a project, built if its source changed since; none where
/// `plugin` is no project's folder.
pub(crate) fn if_project(plugin: &Path) -> Result<Option<PathBuf>, Failure> {
    if !Project::is_at(plugin) {
        return Ok(None);
    }
    let project = Project::open(plugin)?;
    let component = project.component();
    let fresh = match fs::metadata(&component).and_then(|file| file.modified()) {
        Ok(built) => project.newest_source()? <= built,
        Err(_) => false,
    };
    if fresh {
        return Ok(Some(component));
    }
    build(&project).map(Some)
}

/// A project that is built again and again.
pub(crate) struct Watched {
    project: Project,
    /// The newest source that was built, or that a build was tried of.
    seen: SystemTime,
}

impl Watched {
    /// The project at `folder`, as it was built; none where there is none.
    pub(crate) fn at(folder: &Path) -> Result<Option<Self>, Failure> {
        if !Project::is_at(folder) {
            return Ok(None);
        }
        let project = Project::open(folder)?;
        let seen = match fs::metadata(project.component()).and_then(|file| file.modified()) {
            Ok(built) => built,
            Err(_) => SystemTime::UNIX_EPOCH,
        };
        Ok(Some(Self { project, seen }))
    }

    /// Whether the source was changed since. Where it cannot be read, as while
    /// an editor puts a file into its place, it was not.
    pub(crate) fn changed(&self) -> bool {
        self.project
            .newest_source()
            .is_ok_and(|newest| newest > self.seen)
    }

    /// Builds it. What fails is not tried again before it is changed.
    pub(crate) fn build(&mut self) -> Result<PathBuf, Failure> {
        self.seen = self.project.newest_source()?;
        build(&self.project)
    }
}

fn build(project: &Project) -> Result<PathBuf, Failure> {
    // What is saved while the build runs is newer than what it makes.
    let began = SystemTime::now();
    note!("building {}", project.name);
    let component = project.component();
    let unwritable = |error: std::io::Error| {
        Failure::new(
            ExitCode::Other,
            format!("`{}` cannot be written: {error}", component.display()),
        )
    };
    if let Some(dist) = component.parent() {
        fs::create_dir_all(dist).map_err(unwritable)?;
    }
    // Renamed into its place: a host that runs the old one never sees half.
    let half = component.with_extension("wasm.part");
    let built = match project.language {
        Language::Rust => rust::build(project)?,
        Language::Js | Language::Ts => {
            javascript::build(project, &half)?;
            half.clone()
        }
        Language::Python => {
            python::build(project, &half)?;
            half.clone()
        }
    };
    let wasm = fs::read(&built)?;
    let wasm = keepsake_rights::embed(&wasm, &project.manifest);
    fs::write(&half, wasm).map_err(unwritable)?;
    fs::File::options()
        .write(true)
        .open(&half)
        .and_then(|file| file.set_modified(began))
        .and_then(|()| fs::rename(&half, &component))
        .map_err(unwritable)?;
    Ok(component)
}
