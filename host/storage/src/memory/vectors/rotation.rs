//! A fixed turn of the space that spreads what a vector says over all its
//! numbers, so that eight bits, or one, of each of them say much about it.
//!
//! Turning keeps every cosine. What is stored is turned, so the turn is part of
//! the file's form: it must never change. Its sums are in a fixed order, so that
//! it gives the same numbers on every machine.

/// Narrower vectors stay as they are: there is nothing to be gained, and their
/// cosines come back to the last digit.
pub(super) const NARROWEST: usize = 64;
/// After two rounds each number depends on all others, whatever the width.
const ROUNDS: u64 = 2;

/// Turns a vector in place.
pub(super) fn rotate(vector: &mut [f32]) {
    let width = vector.len();
    if width < NARROWEST {
        return;
    }
    let block = 1 << width.ilog2();
    for round in 0..ROUNDS {
        flip_signs(vector, 2 * round);
        mix(&mut vector[..block]);
        if block < width {
            flip_signs(vector, 2 * round + 1);
            mix(&mut vector[width - block..]);
        }
    }
}

/// Turns a vector back.
pub(super) fn rotate_back(vector: &mut [f32]) {
    let width = vector.len();
    if width < NARROWEST {
        return;
    }
    let block = 1 << width.ilog2();
    // Both steps undo themselves.
    for round in (0..ROUNDS).rev() {
        if block < width {
            mix(&mut vector[width - block..]);
            flip_signs(vector, 2 * round + 1);
        }
        mix(&mut vector[..block]);
        flip_signs(vector, 2 * round);
    }
}

/// Turns the sign of about half of the numbers, the same ones each time.
fn flip_signs(vector: &mut [f32], seed: u64) {
    let words = vector.chunks_mut(64).zip(0_u64..);
    for (numbers, place) in words {
        let signs = scattered((seed << 32) | place);
        for (bit, number) in numbers.iter_mut().enumerate() {
            *number = f32::from_bits(number.to_bits() ^ (((signs >> bit) as u32 & 1) << 31));
        }
    }
}

/// SplitMix64: 64 bits that look like chance and are always the same.
fn scattered(number: u64) -> u64 {
    let mut state = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The Walsh-Hadamard transform of a power of two of numbers, keeping lengths.
fn mix(numbers: &mut [f32]) {
    let mut half = 1;
    while half < numbers.len() {
        for pair in numbers.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (left, right) in left.iter_mut().zip(right) {
                (*left, *right) = (*left + *right, *left - *right);
            }
        }
        half *= 2;
    }
    let scale = 1.0 / (numbers.len() as f32).sqrt();
    numbers.iter_mut().for_each(|number| *number *= scale);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(width: usize, step: f32) -> Vec<f32> {
        (0..width)
            .map(|place| (place as f32 * step).sin())
            .collect()
    }

    fn product(left: &[f32], right: &[f32]) -> f64 {
        left.iter()
            .zip(right)
            .map(|(left, right)| f64::from(*left) * f64::from(*right))
            .sum()
    }

    #[test]
    fn turning_keeps_every_product_whatever_the_width() {
        for width in [1, 2, 63, 64, 65, 100, 127, 128, 256, 384, 768, 1_000, 1_536] {
            let (mut left, mut right) = (wave(width, 0.7), wave(width, 1.3));
            let before = [
                product(&left, &right),
                product(&left, &left),
                product(&right, &right),
            ];
            let untouched = left.clone();
            rotate(&mut left);
            rotate(&mut right);
            let after = [
                product(&left, &right),
                product(&left, &left),
                product(&right, &right),
            ];
            for (before, after) in before.iter().zip(after) {
                assert!((before - after).abs() < 1e-4 * width as f64, "{width}");
            }
            rotate_back(&mut left);
            for (before, after) in untouched.iter().zip(&left) {
                assert!((before - after).abs() < 1e-5, "{width}");
            }
        }
    }

    #[test]
    fn a_single_number_is_spread_over_the_whole_width() {
        for width in [64, 100, 384, 768, 1_000] {
            for place in [0, width / 2, width - 1] {
                let mut vector = vec![0.0; width];
                vector[place] = 1.0;
                rotate(&mut vector);
                let largest = vector
                    .iter()
                    .fold(0.0_f32, |most, value| most.max(value.abs()));
                // Spread evenly, each would be 1 over the root of the width.
                assert!(
                    largest * (width as f32).sqrt() < 6.0,
                    "{width} {place} {largest}"
                );
            }
        }
    }

    /// Vectors in files were turned like this. If this changes, they no longer
    /// compare with queries.
    #[test]
    fn the_turn_is_the_one_that_files_were_written_with() {
        let mut vector = wave(100, 0.7);
        rotate(&mut vector);
        let shown: Vec<String> = vector[..4]
            .iter()
            .map(|value| format!("{value:.5}"))
            .collect();
        assert_eq!(shown, ["-0.20523", "-0.22653", "0.90784", "0.79947"]);
    }
}
