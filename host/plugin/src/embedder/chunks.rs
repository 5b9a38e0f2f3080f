//! Long texts in parts that a model takes, and their vectors as one.
//!
//! A model ignores what is past its limit, and a server may refuse the whole
//! text. So a long text is embedded in parts of some hundred words that overlap,
//! and what is kept is the mean of their vectors.

/// Words of one part: about what small models were trained on, and enough for
/// a sentence to stand with those around it.
const WORDS: usize = 300;
/// A text of so many bytes has no more words.
const BYTES_OF_FEWER_WORDS: usize = 2 * WORDS;
/// One word in so many stands in two parts, so that a sentence at a border is
/// whole in one of them.
const OVERLAP: usize = 6;
/// Where a provider says that it takes less, the parts would say nothing.
const LEAST_BYTES: usize = 256;

/// The parts of a text, in their order; the text itself where it is short. No
/// part is longer than `max_bytes`, which counts from [`LEAST_BYTES`].
pub(super) fn chunks(text: &str, max_bytes: usize) -> Vec<&str> {
    let max_bytes = max_bytes.max(LEAST_BYTES);
    if text.len() <= max_bytes.min(BYTES_OF_FEWER_WORDS) {
        return vec![text];
    }
    let words = words(text, max_bytes);
    if text.len() <= max_bytes && words.len() <= WORDS || words.is_empty() {
        return vec![&text[..text.floor_char_boundary(max_bytes)]];
    }
    let mut parts = Vec::new();
    let mut first = 0;
    loop {
        let begin = words[first].0;
        let fitting = words[first..]
            .iter()
            .take(WORDS)
            .take_while(|(_, end)| end - begin <= max_bytes)
            .count();
        let next = first + fitting.max(1);
        parts.push(&text[begin..words[next - 1].1]);
        if next == words.len() {
            return parts;
        }
        first = next - fitting / OVERLAP;
    }
}

/// Where each word begins and ends. What has no white space for longer than
/// `max_bytes` counts as several.
fn words(text: &str, max_bytes: usize) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        // Both point into the same text.
        let mut begin = word.as_ptr().addr() - text.as_ptr().addr();
        let end = begin + word.len();
        while end - begin > max_bytes {
            let cut = text.floor_char_boundary(begin + max_bytes);
            words.push((begin, cut));
            begin = cut;
        }
        words.push((begin, end));
    }
    words
}

/// The mean of vectors, of length 1 where theirs is.
pub(super) fn mean(vectors: &[Vec<f32>], normalised: bool) -> Vec<f32> {
    let Some(first) = vectors.first() else {
        return Vec::new();
    };
    let mut sum = vec![0.0_f64; first.len()];
    for vector in vectors {
        for (sum, value) in sum.iter_mut().zip(vector) {
            *sum += f64::from(*value);
        }
    }
    let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
    let divisor = match normalised {
        true if length > 0.0 => length,
        _ => vectors.len() as f64,
    };
    sum.into_iter()
        .map(|value| (value / divisor) as f32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_one_part_to_the_letter() {
        for text in ["", " ", "a  b\n", &"word ".repeat(100)] {
            assert_eq!(chunks(text, 8_192), [text]);
        }
    }

    #[test]
    fn a_long_text_is_covered_by_parts_that_overlap_and_fit() {
        let text: String = (0..5_000).map(|number| format!("word{number} ")).collect();
        for max_bytes in [300, 1_000, 8_192, usize::MAX] {
            let parts = chunks(&text, max_bytes);
            let mut next = 0;
            for part in &parts {
                assert!(part.len() <= max_bytes);
                let numbers: Vec<usize> = part
                    .split_whitespace()
                    .map(|word| word["word".len()..].parse().unwrap())
                    .collect();
                assert!(numbers.len() <= WORDS);
                assert!(next == 0 || numbers[0] < next, "no overlap at {next}");
                let last = numbers[numbers.len() - 1];
                assert!(last >= next && numbers[0] <= next);
                next = last + 1;
            }
            assert_eq!(next, 5_000);
        }
    }

    #[test]
    fn a_text_without_a_space_is_cut_between_characters() {
        let text = "é".repeat(32 * 1024);
        let parts = chunks(&text, 1_001);
        assert!(parts.iter().all(|part| part.len() <= 1_001));
        assert_eq!(parts.concat().len(), text.len());
        // What a provider says of itself cannot make it endless.
        assert!(chunks(&text, 0).len() <= 64 * 1024 / LEAST_BYTES + 1);
        assert_eq!(chunks(&" ".repeat(10_000), 1_000).len(), 1);
    }

    #[test]
    fn the_mean_has_the_length_that_the_provider_promises() {
        let vectors = [vec![1.0, 0.0], vec![0.0, 1.0]];
        let unit = mean(&vectors, true);
        assert!((unit[0] - 0.5_f32.sqrt()).abs() < 1e-6 && unit[0] == unit[1]);
        assert_eq!(mean(&vectors, false), [0.5, 0.5]);
        assert_eq!(mean(&[vec![1.0], vec![-1.0]], true), [0.0]);
    }
}
