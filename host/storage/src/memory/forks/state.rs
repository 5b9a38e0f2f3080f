//! States: whether a fact or value is the same as at another time or on the other
//! side, without a copy of it.

use rusqlite::Row;
use rusqlite::types::ValueRef;

/// Two states are equal when their hashes are.
pub(super) type Hash = [u8; 16];

/// What can change in a fact. Its text and its place in a thread cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// When it was last remembered again or changed, which repeating alone changes.
    pub(super) updated_at: i64,
    /// All else.
    pub(super) hash: Hash,
}

/// How many columns [`columns`] names.
pub(super) const COLUMNS: usize = 12;

/// The columns of a fact's state. By which fact it was superseded is left out:
/// that has another id on each side.
pub(super) fn columns(table: &str) -> String {
    [
        "updated_at",
        "valid_from",
        "valid_until",
        "superseded_by IS NOT NULL",
        "subject",
        "attribute",
        "source_session",
        "source_place",
        "source_hash",
        "quote",
        "metadata",
        "extras",
    ]
    .map(|column| format!("{table}.{column}"))
    .join(", ")
}

impl State {
    /// Reads the columns from `first` on.
    pub(super) fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        for column in first + 1..first + COLUMNS {
            add(&mut hasher, row.get_ref(column)?);
        }
        Ok(Self {
            updated_at: row.get(first)?,
            hash: short(&hasher),
        })
    }
}

/// The state of a text.
pub(super) fn of_text(text: &str) -> Hash {
    let mut hasher = blake3::Hasher::new();
    add(&mut hasher, ValueRef::Text(text.as_bytes()));
    short(&hasher)
}

/// Adds a column so that no two rows of columns give the same bytes.
fn add(hasher: &mut blake3::Hasher, value: ValueRef<'_>) {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        hasher.update(&[tag]);
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    match value {
        ValueRef::Null => tagged(0, &[]),
        ValueRef::Integer(number) => tagged(1, &number.to_le_bytes()),
        ValueRef::Real(number) => tagged(2, &number.to_le_bytes()),
        ValueRef::Text(text) => tagged(3, text),
        ValueRef::Blob(bytes) => tagged(4, bytes),
    }
}

fn short(hasher: &blake3::Hasher) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    hash
}
