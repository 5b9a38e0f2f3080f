//! The canonical form of an entry, and its hashes. Version 1.
//!
//! ```text
//! field(x)      = length of x in bytes as u64, little-endian, then x
//! number(n)     = field of n as u64, little-endian
//! payload-hash  = BLAKE3( field("keepsake-payload") field(salt) field(payload) )
//! hash          = BLAKE3( field("keepsake-entry") number(1) field(session) number(index)
//!                         number(at) field(kind) field(payload-hash) field(prev) )
//! ```
//!
//! Texts are UTF-8. `payload` is a JSON object with the members of every
//! object in ascending byte order of their names and without white space; it
//! is stored as that text and hashed as stored. `salt` is 16 random bytes that
//! are stored with the entry. `at` is in milliseconds since 1970. The lengths
//! keep two different lists of fields from giving the same bytes.
//!
//! The entry's hash covers the payload's hash and not the payload, so that a
//! payload can be erased and the chain still holds; without the salt, which is
//! erased with it, nobody can find out a short payload by trying.

use blake3::Hasher;

/// The version of the form, the first thing that is hashed.
const VERSION: u64 = 1;

/// A BLAKE3 hash.
pub(super) type Hash = [u8; 32];

/// What the first entry of the first session links to.
pub(super) const GENESIS: Hash = [0; 32];

/// All of an entry but its payload.
pub(super) struct Header<'a> {
    pub(super) session: &'a str,
    pub(super) index: u64,
    pub(super) at: u64,
    pub(super) kind: &'a str,
    pub(super) payload_hash: &'a [u8],
    pub(super) prev: &'a [u8],
}

impl Header<'_> {
    pub(super) fn hash(&self) -> Hash {
        let mut hasher = Hasher::new();
        field(&mut hasher, b"keepsake-entry");
        number(&mut hasher, VERSION);
        field(&mut hasher, self.session.as_bytes());
        number(&mut hasher, self.index);
        number(&mut hasher, self.at);
        field(&mut hasher, self.kind.as_bytes());
        field(&mut hasher, self.payload_hash);
        field(&mut hasher, self.prev);
        hasher.finalize().into()
    }
}

/// The hash of a payload with its salt.
pub(super) fn payload_hash(salt: &[u8], payload: &str) -> Hash {
    let mut hasher = Hasher::new();
    field(&mut hasher, b"keepsake-payload");
    field(&mut hasher, salt);
    field(&mut hasher, payload.as_bytes());
    hasher.finalize().into()
}

fn field(hasher: &mut Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn number(hasher: &mut Hasher, number: u64) {
    field(hasher, &number.to_le_bytes());
}

/// Lower-case hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a text cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by a second program from the description above. If this
    /// changes, ledgers that were written before no longer verify.
    #[test]
    fn the_form_is_the_one_that_was_described() {
        let payload_hash = payload_hash(&[7; 16], r#"{"a":1}"#);
        let header = Header {
            session: "s-1",
            index: 3,
            at: 1_764_600_000_000,
            kind: "exec-completed",
            payload_hash: &payload_hash,
            prev: &GENESIS,
        };
        assert_eq!(
            hexadecimal(&payload_hash),
            "b84403745db16b9ee84162e825c7edf2a545b6a885e45492aee09e0ce29d4dad"
        );
        assert_eq!(
            hexadecimal(&header.hash()),
            "125af6c8d49eb47bf6f0fc3a79173ba7d82e45da310843bf9bf197f20ea1de0f"
        );
    }

    #[test]
    fn moving_a_byte_from_one_field_to_the_next_gives_another_hash() {
        let with = |session, kind| {
            Header {
                session,
                index: 0,
                at: 0,
                kind,
                payload_hash: &GENESIS,
                prev: &GENESIS,
            }
            .hash()
        };
        assert_ne!(with("ab", "c"), with("a", "bc"));
    }
}
