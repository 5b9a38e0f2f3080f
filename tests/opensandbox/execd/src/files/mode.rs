//! Modes and owners. A mode is written as decimal digits that are read as octal
//! ones: 644 is `rw-r--r--`.

use crate::answer::reason;
use crate::names;
use serde::Deserialize;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// What a caller wants a file's mode and owner to be.
#[derive(Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    mode: i64,
    #[serde(default)]
    owner: String,
    #[serde(default)]
    group: String,
}

impl Wanted {
    /// Sets the mode, then the owner. What was not wished for stays. A failure
    /// of the second leaves the first done; it is told in execd's words.
    pub(super) fn apply(&self, path: &Path) -> Result<(), String> {
        if self.mode != 0 {
            let digits = self.mode.to_string();
            let bits = u32::from_str_radix(&digits, 8)
                .map_err(|_| format!("strconv.ParseUint: parsing {digits:?}: invalid syntax"))?;
            fs::set_permissions(path, Permissions::from_mode(bits))
                .map_err(|error| format!("chmod {}: {}", path.display(), reason(&error)))?;
        }
        let user = number("user", &self.owner, names::user)?;
        let group = number("group", &self.group, names::group)?;
        if user.is_some() || group.is_some() {
            chown(path, user, group)
                .map_err(|error| format!("chown {}: {}", path.display(), reason(&error)))?;
        }
        Ok(())
    }
}

fn number(
    kind: &str,
    name: &str,
    find: impl Fn(&str) -> Option<u32>,
) -> Result<Option<u32>, String> {
    if name.is_empty() {
        return Ok(None);
    }
    match find(name) {
        Some(id) => Ok(Some(id)),
        None => Err(format!(
            "failed to lookup {kind} {name}: {kind}: unknown {kind} {name}"
        )),
    }
}

/// A mode's permissions as decimal digits.
pub(super) fn digits(mode: u32) -> u32 {
    let mode = mode & 0o777;
    (mode >> 6) * 100 + (mode >> 3 & 7) * 10 + (mode & 7)
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn a_mode_is_told_by_its_octal_digits() {
        assert_eq!(digits(0o100644), 644);
        assert_eq!(digits(0o040755), 755);
        assert_eq!(digits(0o7), 7);
    }
}
