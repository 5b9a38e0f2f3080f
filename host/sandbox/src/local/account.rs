//! Whose processes the sandboxes' processes are, for the system.

use std::fs;

use rustix::process::{getegid, geteuid};
use uuid::Uuid;

use crate::SandboxError;

/// The first of the numbers from which a host that runs as root gives each
/// sandbox an account of its own. No distribution, container engine or
/// directory service hands out numbers from here to [`LAST`].
const FIRST: u32 = 0x7000_0000;
/// The last of these numbers; the largest that every program takes as valid.
const LAST: u32 = 0x7fff_fffe;
/// `nobody`: for a host that is root only within a container, where the
/// numbers above do not exist.
const NOBODY: u32 = 65_534;

/// The account under which one sandbox's processes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) user: u32,
    pub(super) group: u32,
    /// Whether the host must change to it: only when the host is root.
    pub(super) foreign: bool,
}

impl Account {
    /// The account for the sandbox of this id.
    ///
    /// A host that is root gives its own account to no sandbox: the system
    /// bounds the number of root's processes by nothing, and whatever leaves
    /// the sandbox would be root. Other hosts can only use their own.
    pub(super) fn for_sandbox(id: Uuid) -> Result<Self, SandboxError> {
        if !geteuid().is_root() {
            return Ok(Self {
                user: geteuid().as_raw(),
                group: getegid().as_raw(),
                foreign: false,
            });
        }
        let users = fs::read_to_string("/proc/self/uid_map")
            .map_err(SandboxError::io("cannot read /proc/self/uid_map"))?;
        let groups = fs::read_to_string("/proc/self/gid_map")
            .map_err(SandboxError::io("cannot read /proc/self/gid_map"))?;
        let number = choose(id, &[&users, &groups]).ok_or_else(|| SandboxError::NotPermitted {
            reason: "the host runs as root in a container that has no other account; \
                     run it as another user, or map more accounts into the container"
                .into(),
        })?;
        Ok(Self {
            user: number,
            group: number,
            foreign: true,
        })
    }
}

fn choose(id: Uuid, maps: &[&str]) -> Option<u32> {
    // The low bits of a version 7 id are random. Two sandboxes that meet on
    // one number are as apart as those of a host that is not root.
    let random = u32::try_from(id.as_u128() & u128::from(LAST - FIRST)).unwrap_or(0);
    [FIRST + random.min(LAST - FIRST), NOBODY]
        .into_iter()
        .find(|number| maps.iter().all(|map| is_mapped(map, *number)))
}

/// Whether a `uid_map` or `gid_map` has this number; its lines are the first
/// number inside, the first outside, and how many.
fn is_mapped(map: &str, number: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) =
            (fields.next(), fields.next(), fields.next())
        else {
            return false;
        };
        (first..first.saturating_add(count)).contains(&u64::from(number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_gets_a_number_that_exists_where_the_host_runs() {
        let id = Uuid::now_v7();
        let whole = "         0          0 4294967295\n";
        let number = choose(id, &[whole, whole]).unwrap();
        assert!((FIRST..=LAST).contains(&number), "{number}");
        let container = "0 100000 65536";
        assert_eq!(choose(id, &[container, container]), Some(NOBODY));
        assert_eq!(choose(id, &[whole, container]), Some(NOBODY));
        assert_eq!(choose(id, &["0 1000 1", "0 1000 1"]), None);
    }
}
