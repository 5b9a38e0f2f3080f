//! What every backend owes its callers, as tests.
//!
//! A backend's tests call [`contract_tests!`](crate::contract_tests) with an
//! expression that makes the backend; it becomes one test for each function of
//! this module, which panics where the backend breaks the contract. The tests
//! run real commands, and expect a POSIX shell with the usual tools in the
//! sandbox.

// Each rule's name says what it demands.
#![allow(missing_docs)]

mod commands;
mod copies;
mod ends;
mod files;
mod output;

use std::sync::Arc;

pub use self::commands::*;
pub use self::copies::*;
pub use self::ends::*;
pub use self::files::*;
pub use self::output::*;
use crate::{Command, ExecResult, Sandbox, SandboxBackend, SandboxRequest};

/// Tests a backend: `contract_tests!(make_backend());`. The crate that calls
/// it needs tokio with the features `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! contract_tests {
    ($backend:expr) => {
        $crate::contract_tests!(@each $backend;
            a_command_tells_its_code_and_both_outputs
            output_is_bytes_whatever_they_are
            standard_input_is_what_was_given_or_empty
            a_commands_variables_go_before_the_sandboxs
            a_command_runs_where_it_is_told
            a_command_that_a_signal_ends_tells_its_name
            a_command_that_hangs_is_killed_in_time
            a_killed_command_tells_its_end_and_then_nothing
            a_dropped_command_is_killed
            output_comes_while_the_command_runs
            much_output_is_cut_and_holds_nothing_up
            endless_output_is_stopped
            files_go_in_and_out_unchanged
            a_command_may_change_a_file_of_the_host
            files_that_cannot_be_read_are_told_apart
            a_directory_is_listed_in_order
            what_is_removed_is_gone
            no_symlink_leads_the_host_out
            a_fork_has_the_files_of_its_checkpoint
            a_fork_of_the_present_is_independent
            a_checkpoint_that_is_not_there_is_told
            sandboxes_do_not_share_files
            a_closed_sandbox_answers_nothing_else
            closing_kills_what_runs
            metrics_tell_of_files
            commands_that_break_a_rule_are_refused
        );
    };
    (@each $backend:expr; $($name:ident)*) => {
        $(
            #[::tokio::test(flavor = "multi_thread")]
            async fn $name() {
                $crate::contract::$name(&$backend).await;
            }
        )*
    };
}

async fn sandbox(backend: &dyn SandboxBackend) -> Arc<dyn Sandbox> {
    backend
        .create(SandboxRequest::default())
        .await
        .expect("a sandbox is made")
}

async fn run(sandbox: &Arc<dyn Sandbox>, line: &str) -> ExecResult {
    sandbox
        .exec(Command::new(line))
        .await
        .expect("the command is started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks an error's case and shows the whole of it where it is another.
macro_rules! refused {
    ($result:expr, $case:pat) => {{
        let result = $result;
        assert!(matches!(result, Err($case)), "{result:?}");
    }};
}
use refused;

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_of_the_contract_is_a_test() {
        let (_, listed) = include_str!("contract.rs")
            .split_once("(@each $backend;")
            .unwrap();
        let rules = [
            include_str!("contract/commands.rs"),
            include_str!("contract/copies.rs"),
            include_str!("contract/ends.rs"),
            include_str!("contract/files.rs"),
            include_str!("contract/output.rs"),
        ]
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next());
        let mut count = 0;
        for rule in rules {
            count += 1;
            assert!(
                listed.lines().any(|line| line.trim() == rule),
                "{rule} is not run"
            );
        }
        assert!(count > 20, "{count}");
    }
}
