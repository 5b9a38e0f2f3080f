//! Components that attack who loads them: they nest, repeat and multiply.

use super::{Bystander, sound};
use crate::program::{Folder, Ran};

/// Inspects and runs a component beside another session. Neither may end by a
/// signal or a panic, or take a component for an agent that is none.
#[track_caller]
fn loaded(text: &str) -> (Ran, Ran) {
    loaded_bytes(&wat::parse_str(text).unwrap())
}

#[track_caller]
fn loaded_bytes(component: &[u8]) -> (Ran, Ran) {
    let folder = Folder::new();
    folder.write("plugin.wasm", component);
    let bystander = Bystander::start(&folder);
    let inspected = folder.host(&["inspect", "plugin.wasm"]);
    let ran = folder.say("plugin.wasm", "hello", &["--resource", "mallory"]);
    bystander.end();
    sound(&folder);
    for ran in [&inspected, &ran] {
        assert!(matches!(ran.code, Some(0 | 3)), "{ran:#?}");
        assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
        super::terminals::no_escapes(ran);
    }
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    (inspected, ran)
}

#[test]
fn components_within_components_without_end_are_refused() {
    let header = b"\0asm\x0d\0\x01\0";
    let mut component = header.to_vec();
    for _ in 0..5_000 {
        // A section with a component in it, whose length is a LEB128 number.
        let mut outer = header.to_vec();
        outer.push(4);
        let mut length = component.len();
        while length >= 0x80 {
            outer.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.append(&mut component);
        component = outer;
    }
    let (_, ran) = loaded_bytes(&component);
    assert!(ran.stderr.contains("plugin"), "{ran:#?}");
}

#[test]
fn types_within_types_are_refused() {
    let mut text = "(component (type $t0 u8)".to_owned();
    for level in 0..2_000 {
        text += &format!("(type $t{} (list $t{level}))", level + 1);
    }
    let (_, ran) = loaded(&(text + ")"));
    assert!(ran.stderr.contains("plugin"), "{ran:#?}");
}

#[test]
fn a_type_that_doubles_at_each_level_is_refused() {
    let mut text = "(component (type $t0 u64)".to_owned();
    for level in 0..60 {
        text += &format!("(type $t{} (tuple $t{level} $t{level}))", level + 1);
    }
    let (_, ran) = loaded(&(text + ")"));
    assert!(ran.stderr.contains("plugin"), "{ran:#?}");
}

#[test]
fn a_hundred_thousand_types_are_loaded_or_refused() {
    let text = format!("(component {})", "(type (list u8))".repeat(100_000));
    loaded(&text);
}

#[test]
fn more_instances_than_a_component_may_have_are_refused() {
    let text = format!(
        "(component (core module $m (memory 1)) {})",
        "(core instance (instantiate $m))".repeat(1_500)
    );
    let (_, ran) = loaded(&text);
    assert!(ran.stderr.contains("plugin"), "{ran:#?}");
}

#[test]
fn a_component_of_many_memories_that_is_no_agent_never_runs() {
    let text = format!(
        "(component (core module $m (memory 100)) {})",
        "(core instance (instantiate $m))".repeat(500)
    );
    loaded(&text);
}

#[test]
fn a_function_of_a_million_instructions_is_compiled_or_refused() {
    let text = format!(
        "(component (core module (func (param i32) (result i32) local.get 0 {})))",
        "i32.const 1 i32.add ".repeat(500_000)
    );
    loaded(&text);
}

#[test]
fn a_name_with_escapes_in_an_import_is_told_without_them() {
    let text = r#"(component (import "keepsake:host/memory@0.1.0"
        (instance (export "act" (func)))))"#;
    loaded(text);
    // A name that is none cannot even be written.
    let forged = "(component (import \"\\1b[31m\" (func)))";
    let folder = Folder::new();
    if let Ok(bytes) = wat::parse_str(forged) {
        folder.write("plugin.wasm", bytes);
        let ran = folder.host(&["inspect", "plugin.wasm"]);
        super::terminals::no_escapes(&ran);
        assert_eq!(ran.code, Some(3), "{ran:#?}");
    }
}
