//! What running processes use, read from `/proc`.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// What a command's processes use at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) memory_bytes: u64,
    /// Processor time of these processes and of those that they waited for.
    pub(super) cpu_ms: u64,
    pub(super) processes: u32,
    pub(super) threads: u64,
}

/// A process and all its descendants. A process whose parent ended belongs to
/// the sandbox's first process from then on, so that none is missed there.
pub(super) fn descendants(root: i32) -> Vec<i32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(process) = found.get(next).copied() {
        next += 1;
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            if let Ok(children) = fs::read_to_string(thread.path().join("children")) {
                found.extend(
                    children
                        .split_whitespace()
                        .filter_map(|child| child.parse::<i32>().ok()),
                );
            }
        }
    }
    found
}

/// What these processes use together. One that has ended counts as nothing.
pub(super) fn usage(processes: &[i32]) -> Usage {
    let mut usage = Usage::default();
    for process in processes {
        let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else {
            continue;
        };
        usage.processes += 1;
        usage.threads += number(&status, "Threads:");
        // Anonymous and shared memory; pages of files are the system's to drop.
        usage.memory_bytes += (number(&status, "RssAnon:") + number(&status, "RssShmem:")) * 1024;
        usage.cpu_ms += fs::read_to_string(format!("/proc/{process}/stat"))
            .ok()
            .and_then(|stat| cpu_ms(&stat))
            .unwrap_or(0);
    }
    usage
}

fn number(status: &str, name: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// The fields `utime`, `stime`, `cutime` and `cstime`. They are counted from
/// the last parenthesis: a process chooses its name, and may put spaces there.
fn cpu_ms(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Some(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1))
}

/// The bytes of files on a device that these processes have deleted and still
/// hold open: they take room that no directory shows.
pub(super) fn deleted_bytes(processes: &[i32], device: u64) -> u64 {
    let mut seen = HashSet::new();
    let mut bytes = 0;
    for process in processes {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else {
            continue;
        };
        for descriptor in descriptors.flatten() {
            let Ok(file) = fs::metadata(descriptor.path()) else {
                continue;
            };
            if file.is_file()
                && file.nlink() == 0
                && file.dev() == device
                && seen.insert(file.ino())
            {
                bytes += file.blocks() * 512;
            }
        }
    }
    bytes
}

/// Files and directories in the `/tmp` and `/dev/shm` that the first process
/// of an isolated sandbox sees, these two not counted. Each takes memory, however empty it is.
pub(super) fn temporary_entries(first: i32) -> u64 {
    ["tmp", "dev/shm"]
        .iter()
        .filter_map(|place| rustix::fs::statvfs(format!("/proc/{first}/root/{place}")).ok())
        .map(|found| {
            found
                .f_files
                .saturating_sub(found.f_ffree.saturating_add(1))
        })
        .sum()
}

/// Kills every process whose environment holds `cookie`, until none is found.
/// Only for commands that run without isolation, where nothing else finds a
/// process that left its group.
pub(super) fn kill_by_cookie(cookie: &str) {
    // A process can only multiply while it is looked for; a bound keeps a
    // hostile one from holding the host, which then gives up on it.
    for _ in 0..100 {
        let found = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| {
                let name = entry.file_name();
                let Some(id) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
                    return false;
                };
                has_cookie(&entry.path(), cookie) && kill(id, &entry.path(), cookie)
            });
        if found.count() == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

fn has_cookie(process: &Path, cookie: &str) -> bool {
    fs::read(process.join("environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|one| one == cookie.as_bytes())
    })
}

fn kill(id: i32, process: &Path, cookie: &str) -> bool {
    // The descriptor pins the process; asking again proves that it is the one
    // that was seen, and not another that got its number since.
    Pid::from_raw(id)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
        .filter(|_| has_cookie(process, cookie))
        .is_some_and(|pinned| pidfd_send_signal(pinned, Signal::KILL).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_cannot_forge_its_times_through_its_name() {
        let stat = "7 (a) 1 2) S 1 7 7 0 -1 4194560 100 0 0 0 100 50 30 20 20 0 1 0";
        let tick = 1000 / rustix::param::clock_ticks_per_second();
        assert_eq!(cpu_ms(stat), Some(200 * tick));
    }

    #[test]
    fn this_process_is_seen_to_use_memory() {
        let own = i32::try_from(std::process::id()).unwrap();
        let usage = usage(&[own]);
        assert_eq!(usage.processes, 1);
        assert!(usage.memory_bytes > 100_000, "{usage:?}");
        assert!(usage.threads >= 1, "{usage:?}");
    }
}
