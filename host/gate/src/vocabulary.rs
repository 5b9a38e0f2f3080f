//! Words that decide by themselves whether two statements can say the same.

/// Says nothing that the statement does not say without it.
pub(crate) const SILENT: [&str; 19] = [
    "a",
    "actually",
    "also",
    "am",
    "an",
    "are",
    "basically",
    "certainly",
    "currently",
    "definitely",
    "indeed",
    "is",
    "kindly",
    "please",
    "quite",
    "really",
    "that",
    "the",
    "very",
];

/// Joins words and seldom changes what they say.
const WEAK: [&str; 34] = [
    "and", "as", "at", "be", "been", "being", "by", "do", "does", "for", "has", "have", "he",
    "her", "hers", "him", "his", "in", "into", "it", "its", "of", "on", "she", "their", "theirs",
    "them", "there", "these", "they", "this", "those", "to", "via",
];

/// Turns what a statement says: denial, time, direction, degree, number. Those
/// of two statements that say the same are the same.
const DECISIVE: [&str; 175] = [
    "above",
    "after",
    "again",
    "against",
    "ago",
    "all",
    "almost",
    "already",
    "always",
    "another",
    "any",
    "anymore",
    "april",
    "aucun",
    "august",
    "before",
    "below",
    "between",
    "both",
    "but",
    "can",
    "cannot",
    "could",
    "daily",
    "december",
    "decline",
    "declined",
    "denied",
    "deny",
    "did",
    "didn",
    "down",
    "each",
    "eight",
    "eighth",
    "either",
    "eleven",
    "every",
    "ex",
    "except",
    "february",
    "few",
    "fewer",
    "fifth",
    "first",
    "five",
    "former",
    "formerly",
    "four",
    "fourth",
    "friday",
    "from",
    "geen",
    "had",
    "half",
    "hardly",
    "hundred",
    "if",
    "ikke",
    "inside",
    "instead",
    "inte",
    "jamais",
    "january",
    "july",
    "june",
    "kein",
    "keine",
    "keinen",
    "last",
    "late",
    "later",
    "least",
    "less",
    "longer",
    "many",
    "march",
    "maximum",
    "may",
    "maybe",
    "might",
    "million",
    "minimum",
    "monday",
    "monthly",
    "more",
    "most",
    "must",
    "neither",
    "never",
    "new",
    "next",
    "nicht",
    "nie",
    "niemals",
    "niet",
    "nine",
    "ninth",
    "no",
    "nobody",
    "non",
    "none",
    "nor",
    "not",
    "nothing",
    "november",
    "nunca",
    "não",
    "october",
    "off",
    "often",
    "ohne",
    "old",
    "once",
    "one",
    "only",
    "onto",
    "or",
    "other",
    "out",
    "outside",
    "over",
    "partly",
    "pas",
    "perhaps",
    "previous",
    "previously",
    "rarely",
    "rather",
    "refuse",
    "refused",
    "same",
    "saturday",
    "second",
    "seldom",
    "september",
    "seven",
    "seventh",
    "shall",
    "should",
    "since",
    "six",
    "sixth",
    "some",
    "sometimes",
    "soon",
    "still",
    "stop",
    "stopped",
    "sunday",
    "ten",
    "tenth",
    "than",
    "third",
    "thousand",
    "three",
    "thursday",
    "tuesday",
    "twice",
    "two",
    "under",
    "unless",
    "until",
    "up",
    "used",
    "usually",
    "was",
    "wednesday",
    "weekly",
    "were",
    "will",
    "without",
    "would",
    "yearly",
    "yet",
];

/// Words in capitals that are others in small letters.
const CAPITALS: [&str; 14] = [
    "AM", "AS", "AT", "GO", "IN", "IS", "IT", "ME", "NO", "OR", "SO", "US", "WE", "WHO",
];

/// What a word does in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Carries what is said.
    Content,
    /// Joins words.
    Weak,
    /// Turns what is said.
    Decisive,
    /// A number, an identifier, an address, a sum.
    Exact,
}

pub(crate) fn is_silent(word: &str) -> bool {
    SILENT.binary_search(&word).is_ok()
}

/// The part of a word without digits.
pub(crate) fn part(word: &str) -> Part {
    if DECISIVE.binary_search(&word).is_ok() {
        Part::Decisive
    } else if WEAK.binary_search(&word).is_ok() {
        Part::Weak
    } else {
        Part::Content
    }
}

pub(crate) fn differs_in_small_letters(word: &str) -> bool {
    CAPITALS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_order_and_share_no_word() {
        // A word out of order would never be found.
        for list in [&SILENT[..], &WEAK, &DECISIVE, &CAPITALS] {
            assert!(list.is_sorted(), "{list:?}");
        }
        for word in SILENT.iter().chain(&WEAK) {
            assert!(!DECISIVE.contains(word), "{word}");
        }
    }
}
