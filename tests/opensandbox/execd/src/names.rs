//! Names of users and groups, read from `/etc/passwd` and `/etc/group`.
//!
//! A program linked statically cannot ask the C library, which would load
//! modules for it.

use std::fs;

const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

/// The name of a user, or the number as text.
pub(crate) fn of_user(id: u32) -> String {
    name(USERS, id)
}

/// The name of a group, or the number as text.
pub(crate) fn of_group(id: u32) -> String {
    name(GROUPS, id)
}

/// The number of a user.
pub(crate) fn user(name: &str) -> Option<u32> {
    id(USERS, name)
}

/// The number of a group.
pub(crate) fn group(name: &str) -> Option<u32> {
    id(GROUPS, name)
}

/// The group that a user belongs to at first.
pub(crate) fn first_group(user: u32) -> Option<u32> {
    find(
        USERS,
        |fields| fields.get(2) == Some(&user.to_string().as_str()),
        3,
    )?
    .parse()
    .ok()
}

fn name(file: &str, id: u32) -> String {
    let id = id.to_string();
    find(file, |fields| fields.get(2) == Some(&id.as_str()), 0).unwrap_or(id)
}

fn id(file: &str, name: &str) -> Option<u32> {
    find(file, |fields| fields.first() == Some(&name), 2)?
        .parse()
        .ok()
}

/// One field of the first line that fits.
fn find(file: &str, fits: impl Fn(&[&str]) -> bool, field: usize) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fits(fields))
        .and_then(|fields| fields.get(field).map(|value| (*value).to_owned()))
}
