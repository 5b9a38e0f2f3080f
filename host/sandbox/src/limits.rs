//! What one sandbox may use.

use std::time::Duration;

use keepsake_types::limits;

/// What one sandbox may use. A limit that is reached is told by its field's
/// name with dashes, such as `disk-bytes`.
///
/// Which of them a backend enforces exactly, and which only by looking from
/// time to time, is for the backend to say; for the local one see
/// [`LocalBackend`](crate::LocalBackend).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxLimits {
    /// How long one command may run; a command may ask for less. At most
    /// [`limits::EXEC_SECONDS_MAXIMUM`]; more counts as that.
    pub wall_time: Duration,
    /// Memory of all processes of one command, in bytes.
    pub memory_bytes: u64,
    /// Address space of one process, in bytes.
    pub address_space_bytes: u64,
    /// Processes and threads of one command, the sandbox's own two or three included.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// One file that a command writes, in bytes.
    pub file_size_bytes: u64,
    /// The work directory, in bytes on the disk.
    pub disk_bytes: u64,
    /// Files and directories in the work directory; and as many again in
    /// `/tmp` and `/dev/shm` together.
    pub disk_entries: u64,
    /// `/tmp`, and as much again for `/dev/shm`, in bytes.
    pub temporary_bytes: u64,
    /// What one command may print in all, in bytes, before it is killed.
    pub output_bytes: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            wall_time: Duration::from_secs(limits::EXEC_SECONDS),
            memory_bytes: limits::SANDBOX_MEMORY_BYTES,
            address_space_bytes: limits::SANDBOX_ADDRESS_SPACE_BYTES,
            processes: limits::SANDBOX_PROCESSES,
            open_files: limits::SANDBOX_OPEN_FILES,
            file_size_bytes: limits::SANDBOX_FILE_SIZE_BYTES,
            disk_bytes: limits::SANDBOX_DISK_BYTES,
            disk_entries: limits::SANDBOX_DISK_ENTRIES,
            temporary_bytes: limits::SANDBOX_TEMPORARY_BYTES,
            output_bytes: limits::EXEC_STREAM_BYTES,
        }
    }
}

impl SandboxLimits {
    /// How long a command that asks for `asked` may run.
    #[must_use]
    pub fn time_for(&self, asked: Option<Duration>) -> Duration {
        let most = self
            .wall_time
            .min(Duration::from_secs(limits::EXEC_SECONDS_MAXIMUM));
        asked.map_or(most, |asked| asked.min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_ask_for_less_time_but_never_for_more() {
        let limits = SandboxLimits::default();
        let second = Duration::from_secs(1);
        assert_eq!(limits.time_for(Some(second)), second);
        assert_eq!(limits.time_for(None), Duration::from_secs(60));
        assert_eq!(limits.time_for(Some(second * 3600)), second * 60);
        let generous = SandboxLimits {
            wall_time: second * 86_400,
            ..limits
        };
        assert_eq!(generous.time_for(None), second * 600);
    }
}
