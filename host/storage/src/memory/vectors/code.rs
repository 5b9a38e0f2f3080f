//! How a vector is stored: two bytes for each number and four for its length.
//!
//! The vector is turned (see `rotation`) and stretched until its largest number
//! is [`LARGEST`]; then each number is rounded to a whole one and split into a
//! coarse part, which is 256 times a signed byte, and a fine part, another. All
//! coarse parts come first, then all fine ones, then as `f32` what a whole
//! number of 1 stands for. Searching reads the coarse parts; ranking what it
//! found reads both. Sums are of whole numbers or in a fixed order, so that a
//! cosine is the same on every machine.
//!
//! Vectors of few numbers are stored as they are, in `f32`: nothing is gained
//! by less, and no digit is lost.

use std::borrow::Cow;

use super::rotation::{NARROWEST, rotate, rotate_back};

/// The largest number whose coarse part, rounded to the nearest, is a byte.
const LARGEST: f32 = (127 * 256 + 127) as f32;
/// Sums that are kept apart, so that the compiler can add them at once.
const LANES: usize = 8;

/// The bytes that are stored for a vector. All numbers must be finite.
pub(super) fn encode(vector: &[f32]) -> Vec<u8> {
    if vector.len() < NARROWEST {
        return vector
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
    }
    let (turned, exponent) = direction(vector);
    let (parts, stretch) = whole_numbers(&turned);
    let one = if stretch > 0.0 {
        (f64::from(exponent).exp2() / f64::from(stretch)) as f32
    } else {
        0.0
    };
    let mut bytes = parts;
    bytes.extend(one.to_le_bytes());
    bytes
}

/// The vector that was stored, as far as rounding left it; none when the bytes
/// are not as many as this width has.
pub(super) fn decode(bytes: &[u8], width: usize) -> Option<Vec<f32>> {
    if bytes.len() != length(width) {
        return None;
    }
    if width < NARROWEST {
        return Some(numbers(bytes).collect());
    }
    let one = numbers(&bytes[2 * width..]).next()?;
    let mut vector: Vec<f32> = (0..width)
        .map(|place| whole(bytes, width, place) as f32)
        .collect();
    rotate_back(&mut vector);
    // A product with the smallest numbers there are may not be representable.
    let bounded = |number: f32| number.clamp(f32::MIN, f32::MAX);
    Some(
        vector
            .into_iter()
            .map(|number| bounded(number * one))
            .collect(),
    )
}

/// The coarse parts of a stored vector; none when the bytes are not as many as
/// this width has.
pub(super) fn coarse(bytes: &[u8], width: usize) -> Option<Cow<'_, [u8]>> {
    if bytes.len() != length(width) {
        return None;
    }
    if width < NARROWEST {
        let (turned, _) = direction(&numbers(bytes).collect::<Vec<f32>>());
        let (mut parts, _) = whole_numbers(&turned);
        parts.truncate(width);
        return Some(Cow::Owned(parts));
    }
    Some(Cow::Borrowed(&bytes[..width]))
}

/// How many bytes are stored for a vector.
fn length(width: usize) -> usize {
    if width < NARROWEST {
        4 * width
    } else {
        2 * width + 4
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|number| f32::from_le_bytes(*number))
}

/// The coarse parts and then the fine ones of a vector, and how far it was stretched.
fn whole_numbers(turned: &[f32]) -> (Vec<u8>, f32) {
    let largest = largest(turned);
    let stretch = if largest > 0.0 {
        LARGEST / largest
    } else {
        0.0
    };
    let mut bytes = vec![0; 2 * turned.len()];
    let (coarse, fine) = bytes.split_at_mut(turned.len());
    for ((number, coarse), fine) in turned.iter().zip(coarse).zip(fine) {
        let whole = (number * stretch).round_ties_even() as i32;
        let high = (whole + 128) >> 8;
        *coarse = high as i8 as u8;
        *fine = (whole - (high << 8)) as i8 as u8;
    }
    (bytes, stretch)
}

fn whole(bytes: &[u8], width: usize, place: usize) -> i32 {
    i32::from(bytes[place] as i8) * 256 + i32::from(bytes[width + place] as i8)
}

/// A vector's turned direction, of a length near 1, and by which power of two it
/// was shortened.
fn direction(vector: &[f32]) -> (Vec<f32>, i32) {
    // Brought to about 1 first, by powers of two, which round nothing: squares
    // of very large or small numbers, and sums of large ones, do not fit. Two
    // steps, because the power that lifts the smallest number is itself too large.
    let exponent = match largest(vector) {
        0.0 => 0,
        largest => (f64::from(largest).to_bits() >> 52) as i32 - 1_023,
    };
    let first = -exponent / 2;
    let [first, second] = [first, -exponent - first].map(|power| 2.0_f32.powi(power));
    let mut turned: Vec<f32> = vector
        .iter()
        .map(|number| number * first * second)
        .collect();
    rotate(&mut turned);
    (turned, exponent)
}

/// The largest number without its sign.
fn largest(numbers: &[f32]) -> f32 {
    let mut most = [0.0_f32; LANES];
    let (lanes, rest) = numbers.as_chunks::<LANES>();
    for numbers in lanes {
        for (most, number) in most.iter_mut().zip(numbers) {
            *most = most.max(number.abs());
        }
    }
    let all = most.iter().chain(rest);
    all.fold(0.0, |most, number| most.max(number.abs()))
}

/// A query's direction, turned as what is stored was.
pub(super) struct Probe {
    /// Of length 1, or all zeros.
    pub(super) unit: Vec<f32>,
    /// The sum of its squares, as rounded: 1 or a little beside it, or 0.
    square: f64,
}

impl Probe {
    /// All numbers must be finite.
    pub(super) fn new(vector: &[f32]) -> Self {
        let (mut unit, _) = direction(vector);
        let length = products(unit.iter().map(|number| f64::from(*number).powi(2))).sqrt();
        if length > 0.0 {
            for number in &mut unit {
                *number = (f64::from(*number) / length) as f32;
            }
        }
        let square = products(unit.iter().map(|number| f64::from(*number).powi(2)));
        Self { unit, square }
    }

    /// The cosine with a stored vector, from -1 to 1; 0 where one has no
    /// length. None when there are not as many bytes as this width has.
    pub(super) fn cosine(&self, bytes: &[u8]) -> Option<f64> {
        let width = self.unit.len();
        if bytes.len() != length(width) {
            return None;
        }
        let (product, square) = if width < NARROWEST {
            let (other, _) = direction(&numbers(bytes).collect::<Vec<f32>>());
            self.product_and_square(|place| f64::from(other[place]))
        } else {
            self.product_and_square(|place| f64::from(whole(bytes, width, place)))
        };
        let lengths = (square * self.square).sqrt();
        if lengths > 0.0 {
            Some((product / lengths).clamp(-1.0, 1.0))
        } else {
            Some(0.0)
        }
    }

    fn product_and_square(&self, other: impl Fn(usize) -> f64) -> (f64, f64) {
        let places = 0..self.unit.len();
        (
            products(
                places
                    .clone()
                    .map(|place| f64::from(self.unit[place]) * other(place)),
            ),
            products(places.map(|place| other(place).powi(2))),
        )
    }
}

/// A sum in a fixed order.
fn products(mut terms: impl Iterator<Item = f64>) -> f64 {
    let mut sums = [0.0; LANES];
    loop {
        for sum in &mut sums {
            match terms.next() {
                Some(term) => *sum += term,
                None => return sums.iter().sum(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cosine_is_right_for_values_whose_squares_are_not_representable() {
        let tiny = f32::from_bits(1);
        for size in [f32::MAX, 1e20, 1.0, 1e-20, f32::MIN_POSITIVE, tiny] {
            for other in [f32::MAX, 1.0, tiny] {
                let probe = Probe::new(&[size, size]);
                let found = probe.cosine(&encode(&[other, 0.0])).unwrap();
                assert!(
                    (found - 0.5_f64.sqrt()).abs() < 1e-6,
                    "{size} {other}: {found}"
                );
                assert_eq!(probe.cosine(&encode(&[0.0, 0.0])), Some(0.0));
                assert_eq!(
                    Probe::new(&[0.0, 0.0]).cosine(&encode(&[other, 0.0])),
                    Some(0.0)
                );
            }
        }
    }

    #[test]
    fn every_number_counts_whatever_the_width_and_little_is_lost() {
        for width in [1_usize, 2, 3, 7, 8, 63, 64, 65, 256, 384, 1_000] {
            let left: Vec<f32> = (0..width)
                .map(|place| (place as f32 * 0.7 + 0.3).sin())
                .collect();
            let right: Vec<f32> = (0..width)
                .map(|place| (place as f32 * 1.3 + 0.1).cos())
                .collect();
            let sum = |left: &[f32], right: &[f32]| -> f64 {
                let pairs = left.iter().zip(right);
                pairs
                    .map(|(left, right)| f64::from(*left) * f64::from(*right))
                    .sum()
            };
            let exact = sum(&left, &right) / (sum(&left, &left) * sum(&right, &right)).sqrt();
            let found = Probe::new(&left).cosine(&encode(&right)).unwrap();
            assert!(
                (found - exact).abs() < 2e-5,
                "{width}: {found} instead of {exact}"
            );
            let same = Probe::new(&left).cosine(&encode(&left)).unwrap();
            assert!(same > 1.0 - 1e-8, "{width}: {same}");
            let opposite: Vec<f32> = left.iter().map(|number| -number).collect();
            assert!(Probe::new(&left).cosine(&encode(&opposite)).unwrap() < -1.0 + 1e-8);
        }
    }

    #[test]
    fn what_is_stored_comes_back_as_it_was_given_but_for_rounding() {
        for width in [1_usize, 63, 64, 100, 256, 768] {
            for size in [1e-30_f32, 0.1, 3.0, 1e30] {
                let wave = (0..width).map(|place| (place as f32 * 0.7 + 0.3).sin() * size);
                let vector: Vec<f32> = wave.collect();
                let back = decode(&encode(&vector), width).unwrap();
                for (given, back) in vector.iter().zip(&back) {
                    assert!(
                        (given - back).abs() <= size * 3e-4,
                        "{width} {size} {given} {back}"
                    );
                }
                if width < NARROWEST {
                    assert_eq!(vector, back);
                }
            }
        }
    }

    #[test]
    fn another_width_has_no_cosine() {
        assert_eq!(Probe::new(&[1.0, 0.0]).cosine(&encode(&[1.0])), None);
    }
}
