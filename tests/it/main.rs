//! End-to-end tests: the real program in real processes, on real files, with
//! real components.

mod http_server;
mod program;

mod agents;
mod anthropic;
mod author_errors;
mod authoring;
mod backups;
mod compaction;
mod configuration;
mod continuing;
mod forks;
mod grants;
mod hostile;
mod http_providers;
mod importing;
mod languages;
mod ledger;
mod memory;
mod memory_tour;
mod model_budget;
mod not_a_plugin;
mod owner;
mod presets;
mod provider_check;
mod providers;
mod quality;
mod recalling;
mod run_modes;
mod sandbox_commands;
mod signals;
mod starting;
mod storage_faults;
mod story;
mod structure;
mod swapping;
mod teams;
mod terminal;
mod tls;
mod unruly;
