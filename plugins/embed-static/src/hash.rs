//! The hash that both the build script, which fills the vocabulary's table,
//! and the plugin, which looks things up in it, must agree on. FNV-1a: it goes
//! byte by byte, so that one pass over a word gives the hash of each of its
//! beginnings.

/// The state before the first byte.
pub(crate) const START: u32 = 0x811c_9dc5;

/// The state after one more byte.
pub(crate) const fn step(state: u32, byte: u8) -> u32 {
    (state ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// Where to begin looking in a table of 2^`bits` slots. FNV's low bits are the
/// weak ones, so a multiplication mixes and the upper bits are taken.
pub(crate) const fn slot(state: u32, bits: u32) -> usize {
    (state.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}
