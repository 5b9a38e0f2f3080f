//! Asking the one at the terminal whether a plugin may have what it wishes.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use super::{Permission, Remembered, remembered};
use crate::failure::{ExitCode, Failure};
use crate::output;

/// Asks whether a plugin may have what it was not granted, where someone can be
/// asked; none where nothing is missing or nobody can.
///
/// # Errors
/// When the answer is no, or cannot be remembered.
pub(crate) fn ask(permission: &Permission, data: &Path) -> Result<Option<Remembered>, Failure> {
    if permission.missing.is_empty()
        || !std::io::stdin().is_terminal()
        || !std::io::stderr().is_terminal()
    {
        return Ok(None);
    }
    let name = output::one_line(&permission.name, 100);
    output::note!("{name} wishes to");
    for words in permission.missing.words() {
        output::note!("  - {}", output::printable(&words));
    }
    let granted = Remembered {
        name: permission.name.clone(),
        grant: permission.missing.grant().clone().pinned(&permission.hash),
    };
    loop {
        let mut terminal = std::io::stderr();
        write!(
            terminal,
            "grant it? y = this time, a = always for this build of it, n = no: "
        )?;
        terminal.flush()?;
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer)?;
        match answer.trim() {
            "y" => return Ok(Some(granted)),
            "a" => {
                remembered::add(data, &granted)?;
                return Ok(Some(granted));
            }
            answer if read == 0 || answer == "n" => {
                return Err(Failure::new(
                    ExitCode::Denied,
                    format!("{name} was not granted what it wishes, and was not run"),
                ));
            }
            _ => {}
        }
    }
}
