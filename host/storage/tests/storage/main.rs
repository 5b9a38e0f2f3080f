//! Tests of the storage as its callers see it, against real SQLite files.

mod common;
mod crash;
mod damage;
mod entries;
mod erasure;
mod facts;
mod faults;
mod opening;
mod recall;
mod scopes;
mod sessions;
mod snippets;
mod sources;
mod tampering;
mod two_hosts;
mod validity;
mod vectors;
mod verification;
mod working;
