//! Components made of hand-written modules: what no compiler would bring about.

use keepsake_test_artifacts::UNRULY_AGENT;
use serde_json::Value;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::{Bystander, sound};
use crate::program::Folder;

/// A module that is an agent, of which a test changes what it attacks with.
struct Module {
    /// Functions of the host that it calls.
    imports: &'static str,
    memory: &'static str,
    realloc: &'static str,
    describe: &'static str,
    handle: &'static str,
    more: String,
}

/// Where the ordinary answers lie.
const DESCRIPTION: &str = "i32.const 1024";
const REPLY: &str = "i32.const 4096";

impl Default for Module {
    fn default() -> Self {
        Self {
            imports: "",
            memory: "16",
            // Hands out what was not handed out before.
            realloc: "(global.set $next (i32.add (global.get $next)
                        (i32.and (i32.add (local.get 3) (i32.const 15)) (i32.const -8))))
                      (i32.sub (global.get $next)
                        (i32.and (i32.add (local.get 3) (i32.const 15)) (i32.const -8)))",
            describe: DESCRIPTION,
            handle: REPLY,
            more: String::new(),
        }
    }
}

impl Module {
    fn component(&self) -> Vec<u8> {
        let Self {
            imports,
            memory,
            realloc,
            describe,
            handle,
            more,
        } = self;
        let text = format!(
            r#"(module
                 {imports}
                 (memory (export "memory") {memory})
                 (global $next (mut i32) (i32.const 65536))
                 (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc})
                 (func (export "keepsake:host/agent@0.1.0#describe") (result i32) {describe})
                 (func (export "keepsake:host/agent@0.1.0#handle")
                   (param i32 i32 i32 i32 i32) (result i32) {handle})
                 {more}
                 (data (i32.const 1024) "\00\08\00\00\03\00\00\00\00\08\00\00\03\00\00\00\00\08\00\00\03\00\00\00")
                 (data (i32.const 2048) "raw")
                 (data (i32.const 2060) "\ff\fe\c0\80\ed\a0\80")
                 (data (i32.const 4104) "\00\08\00\00\03\00\00\00"))"#
        );
        let mut module = wat::parse_str(text).unwrap();
        let mut resolve = Resolve::default();
        let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
        let (package, _) = resolve.push_dir(wit).unwrap();
        let world = resolve
            .select_world(&[package], Some("agent-plugin"))
            .unwrap();
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        ComponentEncoder::default()
            .module(&module)
            .unwrap()
            .encode()
            .unwrap()
    }
}

/// Gives the module a message, beside another session and with one after it.
/// Answers with all that was said.
#[track_caller]
fn run(module: &Module) -> Result<String, String> {
    run_within(module, "")
}

#[track_caller]
fn run_within(module: &Module, limits: &str) -> Result<String, String> {
    let folder = Folder::configured(&format!(
        "[limits]\nturn-cpu-seconds = 0.3\nturn-seconds = 20\n{limits}\n"
    ));
    folder.write("plugin.wasm", module.component());
    let bystander = Bystander::start(&folder);
    let ran = folder.say(
        "plugin.wasm",
        "hello",
        &["--resource", "mallory", "--sandbox", "none", "--json"],
    );
    bystander.end();
    folder
        .say(UNRULY_AGENT, "get x", &["--resource", "mallory"])
        .succeeded();
    sound(&folder);
    super::terminals::no_escapes(&ran);
    match ran.code {
        Some(0) => Ok(ran.json()["reply"].as_str().unwrap().to_owned()),
        // It failed in its turn, or when it was asked what it is.
        Some(3) => Err(ran.stderr),
        Some(4) => {
            let turn: Value = ran.json();
            Err(turn["error"]["message"].as_str().unwrap().to_owned())
        }
        other => panic!("{other:?}: {ran:#?}"),
    }
}

#[track_caller]
fn refused(module: &Module, said: &[&str]) {
    let told = run(module).expect_err("it was let through");
    assert!(
        said.iter().any(|said| told.contains(said)),
        "none of {said:?} is told: {told}"
    );
}

const LOOP: &str = "(loop $again (br $again)) unreachable";

/// What is needed to hold handles.
const HANDLES: &str = r#"
    (import "keepsake:host/session@0.1.0" "open-scope" (func $open (param i32)))
    (import "keepsake:host/memory@0.1.0" "[resource-drop]scope" (func $drop (param i32)))
    (import "keepsake:host/memory@0.1.0" "[method]scope.profile" (func $profile (param i32 i32)))
    (import "keepsake:host/sandbox@0.1.0" "[method]sandbox.id" (func $id (param i32 i32)))
    (import "keepsake:host/sandbox@0.1.0" "[resource-drop]sandbox" (func $close (param i32)))
"#;

const LOG: &str = r#"(import "keepsake:host/log@0.1.0" "log"
    (func $log (param i32 i32 i32 i32 i32 i32)))"#;

const EMBED: &str = r#"(import "keepsake:host/embeddings@0.1.0" "embed"
    (func $embed (param i32 i32 i32 i32)))"#;

#[test]
fn a_module_without_an_attack_is_an_agent() {
    assert_eq!(run(&Module::default()).unwrap(), "raw");
}

#[test]
fn a_loop_in_a_start_function_is_cut_off() {
    let module = Module {
        more: format!("(func $begin {LOOP}) (start $begin)"),
        ..Module::default()
    };
    refused(&module, &["limits.turn-cpu-seconds"]);
}

#[test]
fn a_trap_in_a_start_function_is_told() {
    let module = Module {
        more: "(func $begin unreachable) (start $begin)".into(),
        ..Module::default()
    };
    refused(&module, &["must not be reached"]);
}

#[test]
fn a_loop_in_the_description_is_cut_off() {
    let module = Module {
        describe: LOOP,
        ..Module::default()
    };
    refused(&module, &["limits.turn-cpu-seconds"]);
}

#[test]
fn a_loop_where_memory_is_handed_out_is_cut_off() {
    let module = Module {
        realloc: LOOP,
        ..Module::default()
    };
    refused(&module, &["limits.turn-cpu-seconds"]);
}

#[test]
fn a_loop_after_the_answer_is_cut_off() {
    let module = Module {
        more: format!(
            r#"(func (export "cabi_post_keepsake:host/agent@0.1.0#handle") (param i32) {LOOP})"#
        ),
        ..Module::default()
    };
    refused(&module, &["limits.turn-cpu-seconds"]);
}

#[test]
fn a_call_of_the_host_while_memory_is_handed_out_is_refused() {
    let module = Module {
        imports: LOG,
        realloc: "(call $log (i32.const 1) (i32.const 2048) (i32.const 3)
                    (i32.const 0) (i32.const 0) (i32.const 0))
                  (i32.const 65536)",
        ..Module::default()
    };
    refused(&module, &["cannot leave component instance"]);
}

#[test]
fn a_call_of_the_host_after_the_answer_is_refused() {
    let module = Module {
        imports: LOG,
        more: r#"(func (export "cabi_post_keepsake:host/agent@0.1.0#handle") (param i32)
                   (call $log (i32.const 1) (i32.const 2048) (i32.const 3)
                     (i32.const 0) (i32.const 0) (i32.const 0)))"#
            .into(),
        ..Module::default()
    };
    refused(&module, &["cannot leave component instance"]);
}

#[test]
fn an_answer_that_lies_outside_of_memory_is_refused() {
    for handle in ["i32.const -8", "i32.const 1048576", "i32.const 4100000"] {
        let module = Module {
            handle,
            ..Module::default()
        };
        refused(&module, &["out of bounds"]);
    }
}

#[test]
fn an_answer_at_an_odd_address_is_refused() {
    let module = Module {
        handle: "i32.const 4097",
        ..Module::default()
    };
    refused(&module, &["not aligned"]);
}

#[test]
fn an_answer_that_is_no_case_of_its_type_is_refused() {
    let module = Module {
        handle: "(i32.store8 (i32.const 4096) (i32.const 77)) (i32.const 4096)",
        ..Module::default()
    };
    refused(&module, &["discriminant"]);
}

#[test]
fn a_reply_that_is_no_utf_8_is_refused() {
    let module = Module {
        handle: "(i32.store (i32.const 4104) (i32.const 2060))
                 (i32.store (i32.const 4108) (i32.const 7)) (i32.const 4096)",
        ..Module::default()
    };
    refused(&module, &["utf-8"]);
}

#[test]
fn a_reply_that_reaches_over_the_end_of_memory_is_refused() {
    let module = Module {
        handle: "(i32.store (i32.const 4108) (i32.const -1)) (i32.const 4096)",
        ..Module::default()
    };
    refused(&module, &["out-of-bounds", "out of bounds"]);
}

#[test]
fn a_description_that_is_no_utf_8_is_refused() {
    let module = Module {
        describe: "(i32.store (i32.const 1024) (i32.const 2060)) (i32.const 1024)",
        ..Module::default()
    };
    refused(&module, &["utf-8"]);
}

#[test]
fn a_text_for_the_host_that_is_no_utf_8_is_refused() {
    let module = Module {
        imports: LOG,
        handle: "(call $log (i32.const 1) (i32.const 2060) (i32.const 7)
                   (i32.const 0) (i32.const 0) (i32.const 0)) (i32.const 4096)",
        ..Module::default()
    };
    refused(&module, &["utf-8"]);
}

#[test]
fn a_text_for_the_host_that_lies_outside_of_memory_is_refused() {
    let module = Module {
        imports: LOG,
        handle: "(call $log (i32.const 1) (i32.const -16) (i32.const 1000)
                   (i32.const 0) (i32.const 0) (i32.const 0)) (i32.const 4096)",
        ..Module::default()
    };
    refused(&module, &["out of bounds", "out-of-bounds"]);
}

#[test]
fn a_level_that_does_not_exist_is_refused() {
    let module = Module {
        imports: LOG,
        handle: "(call $log (i32.const 77) (i32.const 2048) (i32.const 3)
                   (i32.const 0) (i32.const 0) (i32.const 0)) (i32.const 4096)",
        ..Module::default()
    };
    refused(&module, &["enum", "discriminant"]);
}

#[test]
fn a_list_whose_length_is_a_lie_is_refused() {
    let module = Module {
        imports: EMBED,
        handle: "(call $embed (i32.const 2048) (i32.const -1) (i32.const 0) (i32.const 8192))
                 (i32.const 4096)",
        ..Module::default()
    };
    refused(&module, &["out of bounds", "limits.call-mib"]);
}

#[test]
fn a_list_that_names_the_same_text_again_and_again_is_bounded_by_what_a_call_may_carry() {
    // 100,000 texts of 1 MiB that all lie at the same place.
    let module = Module {
        imports: EMBED,
        memory: "32",
        handle: "(local $at i32) (local.set $at (i32.const 131072))
                 (loop $more
                   (i32.store (local.get $at) (i32.const 1048576))
                   (i32.store (i32.add (local.get $at) (i32.const 4)) (i32.const 1048576))
                   (local.set $at (i32.add (local.get $at) (i32.const 8)))
                   (br_if $more (i32.lt_u (local.get $at) (i32.const 931072))))
                 (call $embed (i32.const 131072) (i32.const 100000) (i32.const 0) (i32.const 8192))
                 (i32.const 4096)",
        ..Module::default()
    };
    refused(&module, &["limits.call-mib"]);
}

#[test]
fn memory_for_an_answer_that_lies_outside_of_memory_is_refused() {
    for realloc in ["i32.const -8", "i32.const 2000000"] {
        let module = Module {
            realloc,
            ..Module::default()
        };
        refused(&module, &["beyond end of memory", "out of bounds"]);
    }
}

#[test]
fn a_forged_handle_is_refused() {
    for handle in [
        "(call $profile (i32.const 12345) (i32.const 8192)) (i32.const 4096)",
        "(call $profile (i32.const 0) (i32.const 8192)) (i32.const 4096)",
        "(call $profile (i32.const -1) (i32.const 8192)) (i32.const 4096)",
        "(call $drop (i32.const 12345)) (i32.const 4096)",
    ] {
        let module = Module {
            imports: HANDLES,
            handle,
            ..Module::default()
        };
        refused(&module, &["unknown handle index"]);
    }
}

#[test]
fn a_handle_that_was_given_back_is_refused() {
    for handle in [
        "(call $open (i32.const 8192)) (call $drop (i32.load (i32.const 8200)))
         (call $profile (i32.load (i32.const 8200)) (i32.const 8256)) (i32.const 4096)",
        "(call $open (i32.const 8192)) (call $drop (i32.load (i32.const 8200)))
         (call $drop (i32.load (i32.const 8200))) (i32.const 4096)",
    ] {
        let module = Module {
            imports: HANDLES,
            handle,
            ..Module::default()
        };
        refused(&module, &["unknown handle index"]);
    }
}

#[test]
fn a_handle_on_something_else_is_refused() {
    for handle in [
        "(call $open (i32.const 8192))
         (call $id (i32.load (i32.const 8200)) (i32.const 8256)) (i32.const 4096)",
        "(call $open (i32.const 8192))
         (call $close (i32.load (i32.const 8200))) (i32.const 4096)",
    ] {
        let module = Module {
            imports: HANDLES,
            handle,
            ..Module::default()
        };
        refused(&module, &["handle index"]);
    }
}

#[test]
fn a_sound_handle_works() {
    let module = Module {
        imports: HANDLES,
        handle: "(call $open (i32.const 8192))
                 (call $profile (i32.load (i32.const 8200)) (i32.const 8256))
                 (i32.store (i32.const 4104) (i32.load (i32.const 8264)))
                 (i32.store (i32.const 4108) (i32.load (i32.const 8268))) (i32.const 4096)",
        ..Module::default()
    };
    assert_eq!(run(&module).unwrap(), "{}");
}

#[test]
fn recursion_without_end_in_compiled_code_ends_the_turn() {
    let module = Module {
        handle: "(call $deeper) (i32.const 4096)",
        more: "(func $deeper (call $deeper) (call $deeper))".into(),
        ..Module::default()
    };
    refused(&module, &["limits.stack-kib"]);
}

#[test]
fn a_memory_that_is_larger_than_any_may_be_is_refused() {
    for memory in ["65536", "9000"] {
        let module = Module {
            memory,
            ..Module::default()
        };
        refused(&module, &["exceeds the limit", "memory"]);
    }
}

#[test]
fn a_memory_that_grows_without_end_ends_at_the_bound() {
    // It goes on with what it has until it fails for want of more.
    let module = Module {
        handle: "(loop $more
                   (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
                 unreachable",
        ..Module::default()
    };
    refused(&module, &["limits.memory-mib"]);
}

#[test]
fn a_table_that_grows_without_end_ends_at_the_bound() {
    let module = Module {
        handle: "(loop $more
                   (br_if $more (i32.ne
                     (table.grow $bomb (ref.null func) (i32.const 1000)) (i32.const -1))))
                 unreachable",
        more: "(table $bomb 1 funcref)".into(),
        ..Module::default()
    };
    let told = run_within(&module, "table-elements = 20000").expect_err("it was let through");
    assert!(told.contains("limits.table-elements"), "{told}");
}

#[test]
fn a_table_that_is_larger_than_any_may_be_is_refused() {
    let module = Module {
        more: "(table $bomb 9000000 funcref)".into(),
        ..Module::default()
    };
    refused(&module, &["exceeds the limit", "table"]);
}
