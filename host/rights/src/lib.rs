//! What a plugin wishes and what it gets: its manifest, as it is written and as
//! it lies in a component, what an operator grants, and what follows of both.
//!
//! Pure rules: nothing here reads a file or asks anyone.

mod grant;
mod keys;
mod manifest;
mod place;
mod rights;
mod section;

pub use grant::{Grant, GrantError};
pub use manifest::{
    Capability, Kind, Language, MANIFEST_FILE, MANIFEST_VERSION, Manifest, ManifestError,
    SecretWish, Wishes,
};
pub use place::{Place, PlaceError, Server};
pub use rights::{Missing, Rights, SecretRight, weigh};
pub use section::{SECTION, embed, embedded};
