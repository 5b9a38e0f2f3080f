//! Texts that plugins and customers wrote, made fit for a terminal.

use std::fmt::Write as _;

/// Whether a terminal would obey this character, or show what stands beside it in
/// another order than it has. Line breaks and tabs are none of them.
fn commands(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

/// The text with what a terminal would obey escaped, line breaks and tabs
/// excepted.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if commands(character) {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// A JSON document with what a terminal would obey escaped as JSON does it: the
/// same document for who reads it as JSON. Such characters stand only in strings.
#[must_use]
pub fn printable_json(document: &str) -> String {
    let mut printable = String::with_capacity(document.len());
    for character in document.chars() {
        if commands(character) {
            // All of them are below 0x10000. Writing to a string cannot fail.
            let _ = write!(printable, "\\u{:04x}", u32::from(character));
        } else {
            printable.push(character);
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_never_obeys_a_plugin() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\nc");
        assert_eq!(printable("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(printable("a\u{202e}b\u{2066}c"), "a\\u{202e}b\\u{2066}c");
        assert_eq!(printable("\r"), "\\r");
    }

    #[test]
    fn a_document_stays_the_same_without_what_a_terminal_would_obey() {
        let document = "{\"a\": \"\u{9b}31m \u{7f}\u{202e}é\"}";
        assert_eq!(
            printable_json(document),
            "{\"a\": \"\\u009b31m \\u007f\\u202eé\"}"
        );
    }
}
