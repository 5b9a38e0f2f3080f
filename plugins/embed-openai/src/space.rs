//! The vector space that a model makes: its name and its width.

use std::cell::RefCell;

use crate::settings::Settings;

/// What tells one server's model from another's.
type Key = (String, String);

thread_local! {
    /// The width that a model without the setting was seen to have. An instance
    /// has one configuration; the key is for tests, which share a thread.
    static SEEN: RefCell<Option<(Key, u32)>> = const { RefCell::new(None) };
}

/// The width of the model's vectors, where it was set or seen.
pub(crate) fn known(settings: &Settings) -> Option<u32> {
    settings.dimensions.or_else(|| {
        SEEN.with_borrow(|seen| match seen {
            Some((of, width)) if *of == key(settings) => Some(*width),
            _ => None,
        })
    })
}

/// Keeps the width that was seen for as long as the instance lives.
pub(crate) fn remember(settings: &Settings, width: u32) {
    SEEN.set(Some((key(settings), width)));
}

fn key(settings: &Settings) -> Key {
    (
        settings.service.base.as_str().to_owned(),
        settings.service.model.clone(),
    )
}

/// The name of the space. Vectors of spaces with different names are never
/// compared, so it holds all that changes what a vector means.
pub(crate) fn name(settings: &Settings, width: u32) -> String {
    let typed = if settings.input_type {
        "+input-type"
    } else {
        ""
    };
    format!("{}@{width}{typed}", settings.service.model)
}
