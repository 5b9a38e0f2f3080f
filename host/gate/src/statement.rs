//! Statements: texts as they are compared.

use unicode_normalization::UnicodeNormalization;

use crate::vocabulary::Part;
use crate::word_forms::{is_slip, singular, stem};
use crate::words::{Word, words};

/// Words in the longest text that is compared word by word. Longer ones are
/// the same only where nothing but case and punctuation differs.
const COMPARED_WORDS: usize = 64;
/// Words that two statements share at the least, where one has a word more.
const SHARED_WORDS: usize = 4;
/// One word in so many may be more in one of two that say nearly the same.
const WORDS_FOR_ONE_MORE: usize = 5;

/// How two statements stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Neither says anything that the other does not.
    Same,
    /// They say nearly the same, so that someone has to decide.
    Near,
    /// They say different things, or may.
    Different,
}

/// A text taken apart for comparison.
#[derive(Clone, Debug)]
pub struct Statement {
    words: Vec<Word>,
    form: String,
}

impl Statement {
    /// Takes a text apart.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let words = words(text);
        let form = match words
            .iter()
            .map(|word| word.text.as_str())
            .collect::<Vec<_>>()
        {
            // Nothing but signs: they are what it says.
            none if none.is_empty() => even(text),
            some => some.join(" "),
        };
        Self { words, form }
    }

    /// The text without case, punctuation, accents' spelling and words that say
    /// nothing. Statements with one form are the same.
    #[must_use]
    pub fn form(&self) -> &str {
        &self.form
    }

    /// The text as a reader sees it: in composed characters, with single blanks
    /// and none around it. Texts that are even look the same.
    #[must_use]
    pub fn even(text: &str) -> String {
        even(text)
    }

    /// Words to look for in order to find statements that are not
    /// [`Likeness::Different`]: each of those holds one of these, as the words'
    /// index takes them apart, or has the same form. The most telling come
    /// first; none for a text that is not compared word by word.
    #[must_use]
    pub fn telling_words(&self) -> Vec<&str> {
        if self.words.len() > COMPARED_WORDS {
            return Vec::new();
        }
        let of = |wanted: Part| {
            let found = self.words.iter().filter(move |word| word.part == wanted);
            found.map(|word| word.text.as_str())
        };
        // Every exact part must be there, so that one is enough.
        if let Some(longest) = of(Part::Exact).max_by_key(|word| word.len()) {
            return vec![longest];
        }
        let mut content: Vec<&str> = of(Part::Content).collect();
        content.sort_by_key(|word| (std::cmp::Reverse(word.len()), *word));
        content.dedup();
        // As many as may be missing, and one.
        content.truncate(1 + more_words(content.len()));
        content
    }

    /// How this statement stands to another.
    #[must_use]
    pub fn likeness(&self, other: &Self) -> Likeness {
        if self.form == other.form {
            return Likeness::Same;
        }
        let longest = self.words.len().max(other.words.len());
        if longest > COMPARED_WORDS || self.words.is_empty() || other.words.is_empty() {
            return Likeness::Different;
        }
        if let Some(likeness) = self.word_by_word(other) {
            return likeness;
        }
        if self.decisive() != other.decisive() || !self.has_names_of(other) {
            return Likeness::Different;
        }
        compared(
            &self.content(),
            &other.content(),
            self.turns_by_order(other),
        )
    }

    /// Whether both give the same value of one property: what is left of them
    /// without the words of the property's own names is the same.
    #[must_use]
    pub fn gives_same_value(&self, other: &Self, names: &[&str]) -> bool {
        if self.form == other.form {
            return true;
        }
        let longest = self.words.len().max(other.words.len());
        if longest > COMPARED_WORDS || self.decisive() != other.decisive() {
            return false;
        }
        let named: Vec<String> = names
            .iter()
            .flat_map(|name| words(name))
            .map(|word| stem(&word.text))
            .collect();
        let value = |statement: &Self| -> Vec<String> {
            let mut content = statement.content();
            content.retain(|word| !named.contains(word));
            content
        };
        let (one, another) = (value(self), value(other));
        let has_value = !one.is_empty() || self.words.iter().any(|word| word.part == Part::Exact);
        has_value && one == another
    }

    /// Pairs the words up: the same but for singular and plural.
    fn word_by_word(&self, other: &Self) -> Option<Likeness> {
        if self.words.len() != other.words.len() {
            return None;
        }
        let mut likeness = Likeness::Same;
        for (one, another) in self.words.iter().zip(&other.words) {
            if one.text == another.text {
                continue;
            }
            let forms = one.part == Part::Content
                && another.part == Part::Content
                && singular(&one.text) == singular(&another.text);
            if !forms || one.is_name() || another.is_name() {
                return None;
            }
            if one.capital || another.capital {
                // "Adams" or more than one "Adam".
                likeness = Likeness::Near;
            }
        }
        Some(likeness)
    }

    /// What must be the same for two statements to say the same, in order.
    fn decisive(&self) -> Vec<&str> {
        self.words
            .iter()
            .filter(|word| matches!(word.part, Part::Decisive | Part::Exact))
            .map(|word| word.text.as_str())
            .collect()
    }

    fn content(&self) -> Vec<String> {
        self.words
            .iter()
            .filter(|word| word.part == Part::Content)
            .map(|word| stem(&word.text))
            .collect()
    }

    /// Whether what is a name in either stands in both, in the same order.
    fn has_names_of(&self, other: &Self) -> bool {
        let is_name = |text: &str| {
            let mut words = self.words.iter().chain(&other.words);
            words.any(|word| word.is_name() && word.text == text)
        };
        let names = |statement: &Self| -> Vec<String> {
            let words = statement.words.iter().map(|word| &word.text);
            words.filter(|text| is_name(text)).cloned().collect()
        };
        names(self) == names(other)
    }

    /// Whether a word is in it that says something else when its neighbours
    /// change places: "tea over coffee".
    fn turns_by_order(&self, other: &Self) -> bool {
        let mut words = self.words.iter().chain(&other.words);
        words.any(|word| {
            word.part == Part::Decisive
                || matches!(
                    word.text.as_str(),
                    "to" | "for" | "into" | "by" | "as" | "of"
                )
        })
    }
}

/// How many of so many words may be in one statement only.
fn more_words(words: usize) -> usize {
    (words / WORDS_FOR_ONE_MORE).max(1)
}

fn compared(one: &[String], other: &[String], turns_by_order: bool) -> Likeness {
    if one == other {
        return Likeness::Near;
    }
    let (missing, more) = (left_over(one, other), left_over(other, one));
    match (missing.as_slice(), more.as_slice()) {
        ([], []) if turns_by_order => Likeness::Different,
        ([], []) => Likeness::Near,
        ([one], [other]) if is_slip(one, other) => Likeness::Near,
        ([], few) | (few, []) => {
            let (short, long) = if one.len() < other.len() {
                (one, other)
            } else {
                (other, one)
            };
            let in_order = is_within(short, long);
            if in_order && short.len() >= SHARED_WORDS && few.len() <= more_words(long.len()) {
                Likeness::Near
            } else {
                Likeness::Different
            }
        }
        _ => Likeness::Different,
    }
}

/// What of `words` is left when those of `taken` are taken away, each once.
fn left_over<'w>(words: &'w [String], taken: &[String]) -> Vec<&'w str> {
    let mut taken: Vec<&String> = taken.iter().collect();
    let mut left = Vec::new();
    for word in words {
        match taken.iter().position(|other| *other == word) {
            Some(place) => {
                taken.swap_remove(place);
            }
            None => left.push(word.as_str()),
        }
    }
    left
}

/// Whether `short` is `long` with words left out.
fn is_within(short: &[String], long: &[String]) -> bool {
    let mut long = long.iter();
    short.iter().all(|word| long.any(|other| other == word))
}

fn even(text: &str) -> String {
    let composed: String = text.nfc().collect();
    composed.split_whitespace().collect::<Vec<_>>().join(" ")
}
