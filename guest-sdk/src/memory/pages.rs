//! Lists that are read by pages, as iterators. An error ends the list: what
//! comes after it is not known.

use std::vec;

use serde_json::Value;

use super::{Episode, EpisodeOptions, Fact, Page};
use crate::error::Result;
use crate::host::ScopeHost;

/// Items that are asked for at once.
const PAGE: u32 = 100;

/// Where a list goes on.
enum Next {
    /// With the page after this one; the first for none.
    After(Option<String>),
    Nowhere,
}

/// A list of which one page is at hand.
struct Pages<T> {
    at_hand: vec::IntoIter<T>,
    next: Next,
}

impl<T> Pages<T> {
    fn after(after: Option<String>) -> Self {
        Self {
            at_hand: Vec::new().into_iter(),
            next: Next::After(after),
        }
    }

    /// The next item; `read` gives the page after the one that is named.
    fn next(
        &mut self,
        read: impl Fn(Option<String>) -> Result<(Vec<T>, Option<String>)>,
    ) -> Option<Result<T>> {
        loop {
            if let Some(item) = self.at_hand.next() {
                return Some(Ok(item));
            }
            let Next::After(after) = std::mem::replace(&mut self.next, Next::Nowhere) else {
                return None;
            };
            match read(after) {
                Ok((items, next)) => {
                    self.at_hand = items.into_iter();
                    self.next = next.map_or(Next::Nowhere, |next| Next::After(Some(next)));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The facts of [`Scope::each_fact`](super::Scope::each_fact).
pub struct EachFact<'a> {
    host: &'a dyn ScopeHost,
    pages: Pages<Fact>,
}

impl<'a> EachFact<'a> {
    pub(super) fn new(host: &'a dyn ScopeHost) -> Self {
        Self {
            host,
            pages: Pages::after(None),
        }
    }
}

impl Iterator for EachFact<'_> {
    type Item = Result<Fact>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pages.next(|after| {
            let page = self.host.list_facts(&Page { after, limit: PAGE })?;
            Ok((page.facts, page.next))
        })
    }
}

/// The values of [`Scope::each_value`](super::Scope::each_value).
pub struct EachValue<'a> {
    host: &'a dyn ScopeHost,
    pages: Pages<(String, String)>,
}

impl<'a> EachValue<'a> {
    pub(super) fn new(host: &'a dyn ScopeHost) -> Self {
        Self {
            host,
            pages: Pages::after(None),
        }
    }
}

impl Iterator for EachValue<'_> {
    type Item = Result<(String, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.pages.next(|after| {
            let page = self.host.list_working(&Page { after, limit: PAGE })?;
            Ok((page.items, page.next))
        })?;
        Some(item.and_then(|(key, text)| Ok((key, serde_json::from_str(&text)?))))
    }
}

/// The episodes of [`Scope::each_episode`](super::Scope::each_episode).
pub struct EachEpisode<'a> {
    host: &'a dyn ScopeHost,
    options: EpisodeOptions,
    pages: Pages<Episode>,
}

impl<'a> EachEpisode<'a> {
    pub(super) fn new(host: &'a dyn ScopeHost, options: EpisodeOptions) -> Self {
        Self {
            host,
            pages: Pages::after(options.page.after.clone()),
            options,
        }
    }
}

impl Iterator for EachEpisode<'_> {
    type Item = Result<Episode>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pages.next(|after| {
            let mut options = self.options.clone();
            options.page.after = after;
            let page = self.host.episodes(&options)?;
            Ok((page.episodes, page.next))
        })
    }
}
