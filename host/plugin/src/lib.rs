//! Plugins
mod bindings;
mod capability;
