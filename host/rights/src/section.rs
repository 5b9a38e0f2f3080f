//! The manifest within a component: a custom section at its outermost level,
//! which is read without compiling or running anything.

/// The section's name.
pub const SECTION: &str = "keepsake:manifest";

/// The identifier of custom sections.
const CUSTOM: u8 = 0;
/// Magic number and version.
const HEADER_BYTES: usize = 8;

/// The component with this manifest in it, in place of one that was there.
/// Bytes that are no WebAssembly are given back as they were.
#[must_use]
pub fn embed(wasm: &[u8], manifest: &str) -> Vec<u8> {
    if !wasm.starts_with(b"\0asm") || wasm.len() < HEADER_BYTES {
        return wasm.to_vec();
    }
    let mut with = wasm[..HEADER_BYTES].to_vec();
    for section in sections(wasm) {
        if manifest_of(&section).is_none() {
            with.extend_from_slice(section.whole);
        }
    }
    let mut content = Vec::new();
    push_number(&mut content, SECTION.len());
    content.extend_from_slice(SECTION.as_bytes());
    content.extend_from_slice(manifest.as_bytes());
    with.push(CUSTOM);
    push_number(&mut with, content.len());
    with.extend(content);
    with
}

/// The bytes of the manifest in a component; none where it has none. The last
/// one counts.
#[must_use]
pub fn embedded(wasm: &[u8]) -> Option<&[u8]> {
    if !wasm.starts_with(b"\0asm") {
        return None;
    }
    sections(wasm)
        .filter_map(|section| manifest_of(&section))
        .last()
}

/// One section: all of its bytes, and what is in it.
struct Section<'a> {
    id: u8,
    whole: &'a [u8],
    content: &'a [u8],
}

/// The sections at the outermost level. What is no whole section ends them, and
/// is given as one of no kind, so that nothing is lost.
fn sections(wasm: &[u8]) -> impl Iterator<Item = Section<'_>> {
    let mut rest = wasm.get(HEADER_BYTES..).unwrap_or_default();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let section = first(rest).unwrap_or(Section {
            id: u8::MAX,
            whole: rest,
            content: rest,
        });
        rest = &rest[section.whole.len()..];
        Some(section)
    })
}

/// The section that the bytes begin with, if it is whole.
fn first(bytes: &[u8]) -> Option<Section<'_>> {
    let (id, behind) = bytes.split_first()?;
    let (length, rest) = number(behind)?;
    let content = rest.get(..length)?;
    let whole = &bytes[..bytes.len() - rest.len() + length];
    Some(Section {
        id: *id,
        whole,
        content,
    })
}

fn manifest_of<'a>(section: &Section<'a>) -> Option<&'a [u8]> {
    if section.id != CUSTOM {
        return None;
    }
    let (length, rest) = number(section.content)?;
    let (name, manifest) = rest.split_at_checked(length)?;
    (name == SECTION.as_bytes()).then_some(manifest)
}

/// A number of at most 32 bits in LEB128, and what stands behind it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            let value = u32::try_from(value).ok()?;
            return Some((usize::try_from(value).ok()?, &bytes[place + 1..]));
        }
    }
    None
}

fn push_number(bytes: &mut Vec<u8>, mut value: usize) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn a_manifest_is_read_as_it_was_embedded() {
        assert_eq!(embedded(EMPTY), None);
        for length in [0, 1, 127, 128, 70_000] {
            let text = "x".repeat(length);
            let with = embed(EMPTY, &text);
            assert_eq!(embedded(&with), Some(text.as_bytes()), "{length}");
        }
    }

    #[test]
    fn embedding_again_leaves_one_manifest_and_all_else() {
        let mut wasm = EMPTY.to_vec();
        wasm.extend(b"\0\x05\x03abcd");
        let with = embed(&embed(&wasm, "first, and longer"), "second");
        assert_eq!(embedded(&with), Some(b"second".as_slice()));
        assert!(with.starts_with(&wasm));
        assert_eq!(with, embed(&wasm, "second"));
    }

    #[test]
    fn broken_bytes_are_neither_lost_nor_read() {
        for broken in [
            b"\0asm\x0d\0\x01\0\0\xff\xff\xff\xff\xff\xff".as_slice(),
            b"\0asm\x0d\0\x01\0\x01\x20short",
            b"\0asm\x0d\0\x01\0\0",
            b"\0asm\x0d\0\x01\0\0\x02\x30a",
        ] {
            assert_eq!(embedded(broken), None);
            assert!(embed(broken, "x").starts_with(broken));
        }
        assert_eq!(embed(b"text", "x"), b"text");
    }
}
