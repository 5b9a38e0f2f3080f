//! Plugins in JavaScript, TypeScript and Python: from `host new` to an agent that
//! remembers, with the tools that authors have. Needs node, npm and python3, and
//! the registries where the build tools are not there from an earlier run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::author_errors;
use crate::program::{Folder, Ran, finish};

/// Where the tools of npm lie for all projects of these tests: as in a workspace
/// of npm's, above them.
static NODE: LazyLock<PathBuf> = LazyLock::new(|| {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node");
    let lock = "package-lock.json";
    let folder = Folder::new();
    folder.host(&["new", "first", "--lang", "ts"]).succeeded();
    let wanted = fs::read(folder.path().join("first").join(lock)).unwrap();
    if fs::read(kept.join(lock)).is_ok_and(|there| there == wanted) {
        return kept;
    }
    let _ = fs::remove_dir_all(&kept);
    fs::create_dir_all(&kept).unwrap();
    // The host installs them; that the source does not compile costs less time.
    folder.write("first/src/plugin.ts", "const wrong: number = 'text';\n");
    let built = folder.host(&["build", "first"]);
    assert!(
        built
            .stderr
            .contains("installing the build tools with `npm ci`"),
        "{built:#?}"
    );
    let installed = folder.path().join("first/node_modules");
    assert!(
        installed.is_dir(),
        "npm could not install the build tools, which these tests cannot do without: {built:#?}"
    );
    let moved = Command::new("mv").arg(&installed).arg(&kept).status();
    assert!(moved.unwrap().success());
    fs::write(kept.join(lock), wanted).unwrap();
    kept
});

/// A folder with a project in it, below the tools.
struct Project {
    folder: Folder,
    name: &'static str,
}

impl Project {
    fn new(language: &str, name: &'static str, kind: &str) -> Self {
        let folder = match language {
            "python" => Folder::new(),
            _ => Folder::below(&NODE),
        };
        let made = ["new", name, "--lang", language, "--kind", kind];
        folder.host(&made).succeeded();
        Self { folder, name }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(self.name).join(name)
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(file)).unwrap();
        assert!(text.contains(from), "{from:?} is not in {text}");
        fs::write(self.path(file), text.replacen(from, to, 1)).unwrap();
    }

    fn build(&self) -> Ran {
        self.folder.host(&["build", self.name])
    }

    fn say(&self, message: &str) -> Ran {
        self.folder
            .say(self.name, message, &["--resource", "jordan"])
    }

    /// Its own tests, as its README says.
    #[track_caller]
    fn passes(&self, program: &str, arguments: &[&str], tests: usize) {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path(""))
            .env("PATH", self.path_with_tools())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let ran = finish(command.spawn().unwrap_or_else(|error| {
            panic!("{program} is needed for these tests: {error}");
        }));
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, Some(0), "{said}");
        assert!(
            said.contains(&format!("# pass {tests}"))
                || said.contains(&format!("Ran {tests} tests")),
            "{said}"
        );
    }

    /// Takes the source and the tests of an example, as its README says.
    fn with_example(self, example: &str) -> Self {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        for folder in ["src", "test", "tests"] {
            let from = examples.join(example).join(folder);
            if from.is_dir() {
                let copied = Command::new("cp")
                    .args(["-r".as_ref(), from.as_os_str()])
                    .arg(self.path(""))
                    .status();
                assert!(copied.unwrap().success());
            }
        }
        self
    }

    /// npm looks for `tsc` in the project's own folder only.
    fn path_with_tools(&self) -> std::ffi::OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node/node_modules/.bin");
        std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&path))).unwrap()
    }

    /// The same is told and asked in each language, each in a process of its
    /// own, and the answers are the same.
    #[track_caller]
    fn remembers_from_one_process_to_the_next(&self) {
        for (message, reply) in [
            ("What is my cat called?", "You have not told me."),
            ("My cat is called Miso.", "I will remember that."),
            (
                "What is my cat called?",
                "You told me: My cat is called Miso.",
            ),
            ("Grüße aus Ås ☂", "I will remember that."),
        ] {
            let said = self.say(message).succeeded();
            assert_eq!(said.stdout.trim(), reply, "{said:#?}");
            assert!(!said.stderr.contains("building"), "{said:#?}");
        }
    }
}

#[test]
fn an_agent_in_javascript_remembers_and_its_tests_need_nothing_installed() {
    let project = Project::new("js", "parcel-helper", "agent");
    project.passes("npm", &["test"], 2);
    let built = project
        .folder
        .host(&["build", project.name, "--json"])
        .succeeded();
    let report = &built.json()["report"];
    assert_eq!(report["kind"], "agent");
    assert_eq!(report["runs_here"], true);
    project.remembers_from_one_process_to_the_next();
}

/// What the support agent is told and asked, each in a process of its own.
const CONVERSATION: [&str; 6] = [
    "Hi, I'm Jordan. I upgraded to the Pro plan on the 3rd.",
    "Which plan am I on?",
    "Hello",
    "I downgraded to the Free plan today.",
    "Which plan am I on?",
    "My card is 4111 1111 1111 1111.",
];

/// What came of it: the replies, the profile, and all facts that there were.
fn support(folder: &Folder, plugin: &str) -> Value {
    let say = |message| {
        let arguments = ["--resource", "jordan", "--json"];
        folder.say(plugin, message, &arguments).succeeded().json()
    };
    let turns = CONVERSATION.map(say);
    let mut sandboxes: Vec<_> = turns.iter().map(|it| it["sandbox"].as_str()).collect();
    assert!(sandboxes.iter().all(Option::is_some), "{turns:#?}");
    sandboxes.sort_unstable();
    sandboxes.dedup();
    assert_eq!(sandboxes.len(), turns.len(), "each has its own sandbox");
    let replies: Vec<_> = turns.iter().map(|turn| turn["reply"].clone()).collect();
    let memory = folder.host(&["memory", "list", "--resource", "jordan", "--json"]);
    let memory = memory.succeeded().json();
    let facts = memory["facts"].as_array().unwrap().iter();
    let facts: Vec<_> = facts
        .map(|fact| json!([fact["content"], fact["verified"]]))
        .collect();
    json!({ "replies": replies, "profile": memory["profile"], "facts": facts })
}

/// What comes of it in Rust.
static IN_RUST: LazyLock<Value> = LazyLock::new(|| {
    let rust = support(&Folder::new(), "support-agent");
    let known = rust["replies"][1].as_str().unwrap();
    assert!(
        known.contains("Pro") && known.contains("(verified)"),
        "{rust:#}"
    );
    assert_eq!(rust["profile"], json!({ "name": "Jordan", "plan": "Free" }));
    rust
});

#[test]
fn the_support_agent_says_and_keeps_in_javascript_what_it_does_in_rust() {
    let project = Project::new("js", "my-support", "agent").with_example("support-agent-js");
    project.passes("npm", &["test"], 13);
    project.build().succeeded();
    assert_eq!(support(&project.folder, project.name), *IN_RUST);
}

#[test]
fn the_support_agent_says_and_keeps_in_python_what_it_does_in_rust() {
    let project =
        Project::new("python", "my-support", "agent").with_example("support-agent-python");
    project.passes("python3", &["-B", "-m", "unittest"], 13);
    project.build().succeeded();
    assert_eq!(support(&project.folder, project.name), *IN_RUST);
}

#[test]
fn an_agent_in_typescript_has_its_types_checked_and_its_faults_told_by_their_lines() {
    let project = Project::new("ts", "parcel-helper", "agent");
    project.passes("npm", &["test"], 2);
    let greeting = "return 'I will remember that.';";
    project.edit("src/plugin.ts", greeting, "return 7;");
    project
        .build()
        .failed(3, &["src/plugin.ts(13,", "TS2322", "the types do not fit"]);
    project.edit(
        "src/plugin.ts",
        "return 7;",
        "if (turn.message === 'fail') throw new TypeError('no parcel');\n      return 'I will remember that.';",
    );
    project.build().succeeded();
    project.remembers_from_one_process_to_the_next();
    let failed = project.say("fail").failed(
        4,
        &[
            "it panicked: TypeError: no parcel (src/plugin.ts:13:",
            "at handle (src/plugin.ts:13:",
        ],
    );
    author_errors::shows(
        "A fault in JavaScript",
        &author_errors::without_backtrace(&failed),
    );
    // The fault ended the instance, and nothing else.
    project.say("I like tea.").succeeded();
}

/// Builds a provider, and holds it to its contract.
#[track_caller]
fn keeps_its_contract(language: &str, kind: &str) -> Project {
    let project = Project::new(language, "my-provider", kind);
    match language {
        "python" => project.passes("python3", &["-m", "unittest"], 2),
        _ => project.passes("npm", &["test"], 2),
    }
    project.build().succeeded();
    let component = "my-provider/dist/my-provider.wasm";
    let checked = project
        .folder
        .host(&["provider", "check", component, "--json"]);
    assert_eq!(checked.succeeded().json()["ok"], true);
    project
}

#[test]
fn an_embedding_provider_in_javascript_keeps_its_contract() {
    keeps_its_contract("js", "embedding-provider");
}

#[test]
fn an_embedding_provider_in_python_keeps_its_contract() {
    keeps_its_contract("python", "embedding-provider");
}

/// The support agent asks it.
#[track_caller]
fn answers_an_agent(project: &Project) {
    let model = [
        "--resource",
        "jordan",
        "--model",
        "my-provider/dist/my-provider.wasm",
    ];
    let said = project.folder.say("support-agent", "Good morning", &model);
    assert_eq!(said.succeeded().stdout.trim(), "You said: Good morning");
    let called = &project.folder.entries("model-called")[0]["payload"];
    assert_eq!(called["usage"]["output_tokens"], 4, "{called:#}");
}

#[test]
fn a_model_provider_in_typescript_keeps_its_contract_and_answers_an_agent() {
    answers_an_agent(&keeps_its_contract("ts", "model-provider"));
}

#[test]
fn a_model_provider_in_python_keeps_its_contract_and_answers_an_agent() {
    answers_an_agent(&keeps_its_contract("python", "model-provider"));
}

/// An agent that calls what the SDK's host for tests does not simulate.
#[track_caller]
fn calls_the_whole_host(language: &str, source: &str) {
    let project = Project::new(language, "whole-host", "agent");
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests/whole-host");
    fs::copy(guest.join(source), project.path("src").join(source)).unwrap();
    project.build().succeeded();
    let said = project.say("go on").succeeded();
    let done: Value = serde_json::from_str(said.stdout.trim()).unwrap();
    assert_eq!(
        done,
        json!({
            "swapped": [true, false, true], "vector": true, "model": true,
            "added": ["Jordan moved to Oslo."], "working": ["step"], "merged": 2,
            "step": "packing", "compacted": [2, 1], "tree": true, "lineage": true,
            "stdout": "one\n", "stderr": "two\n", "code": 3, "kept": "kept",
            "missing": "not-found", "begun": "begun\n", "metrics": true,
        })
    );
}

#[test]
fn an_agent_in_javascript_may_call_the_whole_host() {
    calls_the_whole_host("js", "plugin.js");
}

#[test]
fn an_agent_in_python_may_call_the_whole_host() {
    calls_the_whole_host("python", "plugin.py");
}

#[test]
fn what_a_manifest_says_must_come_of_the_source() {
    let project = Project::new("js", "word-vectors", "embedding-provider");
    project.passes("npm", &["test"], 2);
    project.edit("plugin.toml", "embedding-provider", "agent");
    project.build().failed(
        3,
        &[
            "must have `export default defineAgent({ … })`",
            "of the kind agent",
        ],
    );
}

#[test]
fn what_a_component_has_not_is_told_by_the_import() {
    let project = Project::new("js", "file-reader", "agent");
    project.edit(
        "src/plugin.js",
        "import {",
        "import { readFileSync } from 'node:fs';\nreadFileSync('/etc/passwd');\nimport {",
    );
    project
        .build()
        .failed(3, &["imports `node:fs`", "no Node.js around it"]);
}

#[test]
fn an_agent_in_python_remembers_and_its_faults_are_told_by_their_lines() {
    let project = Project::new("python", "parcel-helper", "agent");
    project.passes("python3", &["-m", "unittest"], 2);
    project.edit(
        "src/plugin.py",
        "            memory.remember(message)",
        "            if message == \"fail\":\n                raise LookupError(\"no parcel\")\n            memory.remember(message)",
    );
    let built = project.build().succeeded();
    assert!(
        built
            .stderr
            .contains("installing the build tools into .venv"),
        "{built:#?}"
    );
    assert!(built.stdout.contains("runs here yes"), "{built:#?}");
    project.remembers_from_one_process_to_the_next();
    let failed = project.say("fail").failed(
        4,
        &[
            "it panicked: LookupError: no parcel (src/plugin.py:16)",
            "plugin.py\", line 16, in handle",
        ],
    );
    author_errors::shows(
        "A fault in Python",
        &author_errors::without_backtrace(&failed),
    );
    // The fault ended the instance, and nothing else.
    project.say("I like tea.").succeeded();
}

#[test]
fn an_author_in_python_is_told_what_the_source_lacks() {
    let project = Project::new("python", "parcel-helper", "agent");
    project.edit(
        "src/plugin.py",
        "class Plugin(Agent)",
        "class Plugin(Agentt)",
    );
    project.build().failed(
        3,
        &[
            "File \"src/plugin.py\", line 7",
            "NameError: name 'Agentt' is not defined",
        ],
    );
}

#[test]
fn missing_tools_are_named_with_how_to_get_them() {
    let folder = Folder::new();
    for (language, said) in [
        ("js", ["node is missing", "https://nodejs.org"]),
        ("python", ["python3 is missing", "https://www.python.org"]),
    ] {
        folder
            .host(&["new", language, "--lang", language])
            .succeeded();
        let mut command = folder.command(&["build", language]);
        command.env("PATH", folder.path());
        finish(command.spawn().unwrap()).failed(1, &said);
    }
}

#[test]
fn a_forgotten_manifest_is_told_with_the_language_that_the_folder_looks_like() {
    let folder = Folder::new();
    for language in ["rust", "js", "ts", "python"] {
        folder
            .host(&["new", language, "--lang", language])
            .succeeded();
        fs::remove_file(folder.path().join(language).join("plugin.toml")).unwrap();
        let wanted = format!("language = \"{language}\"");
        folder
            .host(&["build", language])
            .failed(2, &["for want of a plugin.toml", &wanted]);
    }
}

#[test]
fn the_sdks_own_tests_pass() {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk");
    for (folder, program, arguments) in [
        ("js", "npm", ["test", "--silent"].as_slice()),
        (
            "python",
            "python3",
            ["-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."].as_slice(),
        ),
    ] {
        let ran = Command::new(program)
            .args(arguments)
            .current_dir(sdk.join(folder))
            .output()
            .unwrap_or_else(|error| panic!("{program} is needed for this test: {error}"));
        assert!(
            ran.status.success(),
            "{}{}",
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr)
        );
    }
}
