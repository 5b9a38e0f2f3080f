//! Wordpieces to vectors. The rows are decoded as they are used: the weights
//! stay where the component has them, and an instance that embeds one short
//! text touches a few pages of them.

use crate::{tokenizer::Splitter, vocabulary::Row};

static WEIGHTS: &[u8; 3_695_900] = include_bytes!("../model/weights.bin");

/// How many numbers a vector has.
pub const DIMENSIONS: usize = 256;
/// Under this cosine a passage is taken for no answer to a query. It is the 5th
/// percentile of 60 support questions with their answers: 3 of them lie under it,
/// and so do 72 % of the pairs that do not belong together (see the README).
pub const RELEVANCE_THRESHOLD: f32 = 0.40;
/// How many rows there are, one for each wordpiece.
const ROWS: usize = 27_999;
/// Two values in each byte.
const ROW_BYTES: usize = DIMENSIONS / 2;
const SCALES: usize = 32;
const VALUES: usize = SCALES + 4 * ROWS;

// The build stops if the file is not the one that these numbers describe.
const _: () = {
    assert!(WEIGHTS.len() == VALUES + ROWS * ROW_BYTES);
    let magic = b"SEMB0001";
    let mut at = 0;
    while at < magic.len() {
        assert!(WEIGHTS[at] == magic[at]);
        at += 1;
    }
    assert!(number(8) as usize == ROWS && number(12) as usize == DIMENSIONS && number(16) == 4);
};

const fn number(at: usize) -> u32 {
    u32::from_le_bytes([
        WEIGHTS[at],
        WEIGHTS[at + 1],
        WEIGHTS[at + 2],
        WEIGHTS[at + 3],
    ])
}

/// One vector of [`DIMENSIONS`] numbers for each text, in order. Each has
/// length 1, or is all zero when its text held nothing that the model knows.
#[must_use]
pub fn embed(texts: &[String]) -> Vec<Vec<f32>> {
    let mut splitter = Splitter::default();
    texts.iter().map(|text| mean(splitter.read(text))).collect()
}

/// The normalised mean of rows. The sum does as well, as the length is taken
/// out afterwards.
fn mean(rows: &[Row]) -> Vec<f32> {
    let mut even = [0.0_f32; ROW_BYTES];
    let mut odd = [0.0_f32; ROW_BYTES];
    for row in rows {
        add(usize::from(*row), &mut even, &mut odd);
    }
    let length = squares(&even, &odd).sqrt();
    if length > 0.0 {
        even.iter()
            .zip(&odd)
            .flat_map(|(even, odd)| [even / length, odd / length])
            .collect()
    } else {
        vec![0.0; DIMENSIONS]
    }
}

/// Adds one row. Values at even and at odd places are kept apart so that the
/// loop has no shuffles and the compiler turns it into vector instructions.
fn add(row: usize, even: &mut [f32; ROW_BYTES], odd: &mut [f32; ROW_BYTES]) {
    let scale = f32::from_bits(number(SCALES + 4 * row));
    let start = VALUES + row * ROW_BYTES;
    let values = &WEIGHTS[start..start + ROW_BYTES];
    for ((byte, even), odd) in values.iter().zip(even).zip(odd) {
        *even += scale * f32::from(i16::from(byte & 15) - 8);
        *odd += scale * f32::from(i16::from(byte >> 4) - 8);
    }
}

/// The sum of the squares, in four lanes whose order is fixed: the same text
/// gives the same bits on every machine.
fn squares(even: &[f32; ROW_BYTES], odd: &[f32; ROW_BYTES]) -> f32 {
    let mut lanes = [0.0_f32; 4];
    for half in [even, odd] {
        for four in half.chunks_exact(4) {
            for (lane, value) in lanes.iter_mut().zip(four) {
                *lane += value * value;
            }
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}
