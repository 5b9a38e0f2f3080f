//! Where secrets come from: a variable of their name, or a file that nobody else
//! can read.

use std::path::Path;

use keepsake_client::{Credential, SHORTEST_REDACTED_KEY};
use keepsake_rights::SecretRight;
use secrecy::zeroize::Zeroizing;

use crate::config::Config;
use crate::failure::{ExitCode, Failure};

/// The longest file that is read as a secret.
const SECRET_BYTES: u64 = 8 * 1024;

/// A secret as what goes into requests.
///
/// # Errors
/// When it is not there, others can read it, or it is too short to be taken out
/// of answers.
pub(super) fn read(secret: &SecretRight, config: &Config) -> Result<Credential, Failure> {
    let told = |reason: &str| {
        Failure::new(
            ExitCode::Usage,
            format!("the secret {}: {reason}", secret.name),
        )
    };
    let value = match config.secrets.get(&secret.name) {
        Some(path) => in_file(path).map_err(|reason| told(&reason))?,
        None => Zeroizing::new(std::env::var(&secret.name).unwrap_or_default()),
    };
    let value = value.trim();
    if !value.is_empty() && value.len() < SHORTEST_REDACTED_KEY {
        return Err(told(&format!(
            "it has fewer than {SHORTEST_REDACTED_KEY} characters, and could not be told from other text in an answer; use a longer one"
        )));
    }
    Credential::new(&secret.name, value, secret.header.as_deref())
        .map_err(|error| told(&error.to_string()))
}

fn in_file(path: &Path) -> Result<Zeroizing<String>, String> {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    let wrong = |reason: String| format!("{}: {reason}", path.display());
    let mut file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    let about = file.metadata().map_err(|error| wrong(error.to_string()))?;
    if !about.is_file() {
        return Err(wrong("it is no file".into()));
    }
    if about.len() > SECRET_BYTES {
        return Err(wrong("it is too long to be a secret".into()));
    }
    if about.permissions().mode() & 0o077 != 0 {
        return Err(wrong(format!(
            "other users can read it; run `chmod 600 {}`",
            path.display()
        )));
    }
    let mut value = Zeroizing::new(String::new());
    file.read_to_string(&mut value)
        .map_err(|error| wrong(error.to_string()))?;
    if value.trim().is_empty() {
        return Err(wrong("it is empty".into()));
    }
    Ok(value)
}
