//! The vectors of queries that were embedded lately: customers, and agents in
//! their rounds, ask the same again.

use std::sync::{Mutex, PoisonError};

use hashlink::LinkedHashMap;
use keepsake_types::limits;

/// Queries and their vectors, the one that was used last at the end. Of one
/// provider, so that its model needs no place in the key.
#[derive(Default)]
pub(super) struct Queries(Mutex<Known>);

#[derive(Default)]
struct Known {
    vectors: LinkedHashMap<String, Vec<f32>>,
    bytes: usize,
}

impl Queries {
    pub(super) fn get(&self, text: &str) -> Option<Vec<f32>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.vectors.to_back(text).cloned()
    }

    /// Keeps a vector, and lets go of those that were not used for longest.
    pub(super) fn put(&self, text: &str, vector: &[f32]) {
        let bytes = size(text, vector);
        if bytes > limits::QUERY_CACHE_BYTES {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.bytes += bytes;
        if let Some(before) = known.vectors.insert(text.to_owned(), vector.to_vec()) {
            known.bytes -= size(text, &before);
        }
        while known.vectors.len() > limits::QUERY_CACHE_ENTRIES
            || known.bytes > limits::QUERY_CACHE_BYTES
        {
            let Some((text, vector)) = known.vectors.pop_front() else {
                return;
            };
            known.bytes -= size(&text, &vector);
        }
    }
}

fn size(text: &str, vector: &[f32]) -> usize {
    text.len() + size_of_val(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(queries: &Queries) -> usize {
        queries.0.lock().unwrap().bytes
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let queries = Queries::default();
        for number in 0..limits::QUERY_CACHE_ENTRIES {
            queries.put(&number.to_string(), &[number as f32]);
        }
        assert_eq!(queries.get("0"), Some(vec![0.0]));
        queries.put("one more", &[1.0]);
        assert_eq!(queries.get("1"), None);
        assert_eq!(queries.get("0"), Some(vec![0.0]));
        assert_eq!(queries.get("one more"), Some(vec![1.0]));
    }

    #[test]
    fn the_cache_is_no_larger_than_its_bytes_whatever_is_put() {
        let queries = Queries::default();
        let vector = vec![0.5_f32; 8_192];
        for number in 0..2_000 {
            let text = format!("{number}{}", "x".repeat(16_000));
            queries.put(&text, &vector);
            queries.put(&text, &vector);
            assert!(bytes(&queries) <= limits::QUERY_CACHE_BYTES);
        }
        assert!(bytes(&queries) > limits::QUERY_CACHE_BYTES / 2);
        queries.put("huge", &vec![0.0; limits::QUERY_CACHE_BYTES]);
        assert_eq!(queries.get("huge"), None);
    }
}
