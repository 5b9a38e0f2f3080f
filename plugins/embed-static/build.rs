//! Builds the vocabulary's look-up table, so that the plugin has nothing to
//! set up when it starts: each new instance would pay for it again.
//!
//! Writes to `OUT_DIR`, all integers little-endian:
//! - `line-starts.bin`: a u32 for each wordpiece, where its line begins in
//!   `vocab.txt`, and one more for the end of the file;
//! - `slots.bin`: an open-addressing hash table of u16, row + 1 or 0;
//! - `table.rs`: the table's size and the longest wordpiece.

use std::{env, error::Error, fs, path::Path};

#[path = "src/hash.rs"]
mod hash;

/// 65,536 slots for 27,999 wordpieces: most look-ups touch one or two.
const BITS: u32 = 16;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=model/vocab.txt");
    println!("cargo::rerun-if-changed=src/hash.rs");
    let vocabulary = fs::read("model/vocab.txt")?;

    let mut line_starts = vec![0_u32];
    for (position, _) in vocabulary
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
    {
        line_starts.push(u32::try_from(position + 1)?);
    }
    if line_starts.last().copied() != Some(u32::try_from(vocabulary.len())?) {
        return Err("vocab.txt must end with a line break".into());
    }
    if line_starts.len() > usize::from(u16::MAX) {
        return Err("vocab.txt has more lines than a u16 can count".into());
    }

    let mut slots = vec![0_u16; 1 << BITS];
    let mut longest = 0;
    for (row, bounds) in line_starts.windows(2).enumerate() {
        let piece = &vocabulary[bounds[0] as usize..bounds[1] as usize - 1];
        longest = longest.max(piece.len());
        let state = piece
            .iter()
            .fold(hash::START, |state, byte| hash::step(state, *byte));
        let mut slot = hash::slot(state, BITS);
        while slots[slot] != 0 {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = u16::try_from(row + 1)?;
    }

    let out = env::var("OUT_DIR")?;
    let out = Path::new(&out);
    let bytes = |numbers: &[u32]| {
        numbers
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect::<Vec<_>>()
    };
    fs::write(out.join("line-starts.bin"), bytes(&line_starts))?;
    fs::write(
        out.join("slots.bin"),
        slots
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect::<Vec<_>>(),
    )?;
    fs::write(
        out.join("table.rs"),
        format!(
            "/// The table has 2 to the power of this slots.\n\
             pub(crate) const TABLE_BITS: u32 = {BITS};\n\
             /// How many bytes the longest wordpiece has, `##` included.\n\
             pub(crate) const LONGEST_PIECE: usize = {longest};\n"
        ),
    )?;
    Ok(())
}
