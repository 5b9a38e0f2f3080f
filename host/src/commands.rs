//! The commands: each takes what was typed, does its work through the parts
//! below it, and prints.

pub(crate) mod build;
pub(crate) mod doctor;
pub(crate) mod inspect;
pub(crate) mod ledger;
pub(crate) mod memory;
pub(crate) mod new;
pub(crate) mod provider;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod sessions;
