//! End-to-end tests: the real program in real processes, on real files, with
//! real components.

mod http_server;
mod program;

mod configuration;
mod http_providers;
mod ledger;
mod memory;
mod not_a_plugin;
mod providers;
mod run_modes;
mod sandbox_commands;
mod signals;
mod storage_faults;
mod story;
mod structure;
mod swapping;
mod terminal;
mod unruly;
