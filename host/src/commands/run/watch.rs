//! `host run --watch`: a project is built again when its source changes, and the
//! new plugin takes the place of the old one between turns.

use std::path::Path;
use std::time::Duration;

use crate::app::{Permitted, Plugins};
use crate::commands::build::Watched;
use crate::config::PluginChoice;
use crate::failure::{ExitCode, Failure};
use crate::output::note;
use crate::session::Session;

/// How often the source is looked at while nobody writes. A look reads the times
/// of some hundred files.
const LOOK: Duration = Duration::from_millis(500);

/// The project whose plugin runs.
pub(super) struct Watch {
    plugins: Plugins,
    project: Watched,
}

impl Watch {
    /// # Errors
    /// When `plugin` is no project.
    pub(super) fn new(plugins: &Plugins, plugin: &Path) -> Result<Self, Failure> {
        let Some(project) = Watched::at(plugin)? else {
            return Err(Failure::new(
                ExitCode::Usage,
                format!(
                    "`{}` is no project whose source could be watched: give a folder that `host new` made, or leave --watch out",
                    plugin.display()
                ),
            ));
        };
        Ok(Self {
            plugins: plugins.clone(),
            project,
        })
    }

    /// Waits until the source is not what the plugin was built from.
    pub(super) async fn changed(&self) {
        while !self.project.changed() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Builds what was changed and has it handle the turns from now on. A
    /// failure is told, and the plugin that runs goes on.
    ///
    /// # Errors
    /// When the ledger cannot be written.
    pub(super) async fn refresh(&mut self, session: &mut Session) -> Result<(), Failure> {
        if !self.project.changed() {
            return Ok(());
        }
        let went_on = "the plugin that was built before goes on";
        match self.built().await {
            Ok(built) if built.agent.description().name != session.agent_name() => {
                note!(
                    "the new build calls itself `{}`, and this session is one of `{}`: {went_on}; end this run to use it",
                    built.agent.description().name,
                    session.agent_name()
                );
                Ok(())
            }
            Ok(built) => {
                session.replace_agent(built).await?;
                note!("the next message goes to what was built now");
                Ok(())
            }
            Err(failure) => {
                note!("{failure}\n{went_on}");
                Ok(())
            }
        }
    }

    async fn built(&mut self) -> Result<Permitted, Failure> {
        let component = self.project.build()?;
        let choice = PluginChoice::here(component.to_string_lossy().into_owned());
        self.plugins.agent(&choice).await
    }
}
