//! What was granted at a terminal for good: `grants.toml` in the data folder, each
//! grant for one component.

use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use keepsake_rights::Grant;
use serde::{Deserialize, Serialize};

use crate::failure::{ExitCode, Failure};

/// The file's name in the data folder.
const FILE: &str = "grants.toml";

/// A grant that was given at a terminal.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Remembered {
    pub(crate) name: String,
    pub(crate) grant: Grant,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    granted: Vec<Remembered>,
}

fn path(data: &Path) -> PathBuf {
    data.join(FILE)
}

/// What was granted for good.
///
/// # Errors
/// When the file cannot be read, or others could have written it.
pub(crate) fn read(data: &Path) -> Result<Vec<Remembered>, Failure> {
    let path = path(data);
    let wrong =
        |reason: String| Failure::new(ExitCode::Usage, format!("`{}`: {reason}", path.display()));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        // A data folder that is no folder is told by the storage, in its own words.
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(wrong(error.to_string())),
    };
    let mode = std::fs::metadata(&path)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(wrong(format!(
            "other users have rights on it, and it says what plugins may do; look at it and run `chmod 600 {}`",
            path.display()
        )));
    }
    let file: File = toml::from_str(&text).map_err(|error| {
        wrong(format!(
            "{}; correct it, or remove it to be asked again",
            error.to_string().trim_end()
        ))
    })?;
    Ok(file.granted)
}

/// Adds a grant for good.
///
/// # Errors
/// When it cannot be written.
pub(super) fn add(data: &Path, remembered: &Remembered) -> Result<(), Failure> {
    let mut granted = read(data)?;
    granted.push(remembered.clone());
    let text = toml::to_string(&File { granted })
        .map_err(|error| Failure::new(ExitCode::Other, error.to_string()))?;
    std::fs::create_dir_all(data)?;
    // Renamed into its place, so that no half of it is ever read.
    let half = data.join(format!("{FILE}.part"));
    let mut file = std::fs::File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&half)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&half, path(data))?;
    Ok(())
}
