//! A place in a sentence that is being read.

use super::Matched;
use crate::{
    statements::{Attribute, Said, Statement},
    text::Word,
};

/// Words of a sentence, how far they are read, and where the segment ends.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub(super) words: &'a [Word<'a>],
    pub(super) at: usize,
    pub(super) end: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn peek(&self) -> Option<&'a Word<'a>> {
        self.words[..self.end].get(self.at)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    pub(super) fn is(&self, any: &[&str]) -> bool {
        self.peek()
            .is_some_and(|word| any.contains(&word.lower.as_str()))
    }

    pub(super) fn eat(&mut self, any: &[&str]) -> bool {
        let is = self.is(any);
        self.at += usize::from(is);
        is
    }

    pub(super) fn eat_all(&mut self, each: &[&str]) -> bool {
        let before = self.at;
        let all = each.iter().all(|word| self.eat(&[word]));
        if !all {
            self.at = before;
        }
        all
    }

    pub(super) fn eat_while(&mut self, any: &[&str]) {
        while self.eat(any) {}
    }

    pub(super) fn next(&mut self) -> Option<&'a Word<'a>> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }

    /// What is left, pauses or not.
    pub(super) fn free_text(&mut self) -> &'a [Word<'a>] {
        let rest = &self.words[self.at..];
        self.at = self.words.len();
        rest
    }

    pub(super) fn matched(
        &self,
        attribute: Attribute,
        value: Option<String>,
        said: Said,
    ) -> Matched {
        let statement = Statement {
            attribute,
            value,
            said,
            more: None,
            quote: String::new(),
        };
        Matched {
            statement,
            length: self.at,
        }
    }
}
