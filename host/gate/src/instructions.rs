//! Texts that read like instructions to a model. Such a text is kept, because
//! it may well be what the customer said, but it is marked.

use unicode_normalization::UnicodeNormalization;

/// Words by which prompts name who speaks, before a colon.
pub const ROLES: [&str; 7] = [
    "system",
    "assistant",
    "user",
    "developer",
    "tool",
    "human",
    "ai",
];
/// What stands before a colon as a speaker does, and is none.
const HEADING: &str = "instructions";
/// Marks of chat templates and of tool calls, in lower case without blanks.
const MARKS: [&str; 25] = [
    "<|",
    "|>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "</s>",
    "<system",
    "</system",
    "<assistant",
    "</assistant",
    "<tool",
    "</tool",
    "<function",
    "</function",
    "<invoke",
    "</invoke",
    "tool_call",
    "function_call",
    "tool_use",
    "###system",
    "###instruction",
    "###assistant",
    "\"arguments\":{",
    "begininstructions",
    "endinstructions",
];
/// Turns of phrase, as whole words.
const PHRASES: [&str; 42] = [
    "you must now",
    "you must always",
    "you must never",
    "you must not",
    "you must ignore",
    "you must obey",
    "you must follow",
    "you must reply",
    "you must respond",
    "you must answer",
    "you are now a",
    "you are now an",
    "you are now in",
    "you will now",
    "you are no longer",
    "from now on you",
    "from now on always",
    "from now on never",
    "from now on respond",
    "from now on answer",
    "from now on reply",
    "act as if you",
    "act as an",
    "act as a",
    "pretend to be",
    "pretend you are",
    "system prompt",
    "system message",
    "your instructions are",
    "your new instructions",
    "new instructions",
    "developer mode",
    "jailbreak",
    "do anything now",
    "respond only with",
    "reply only with",
    "answer only with",
    "do not tell the user",
    "do not tell the customer",
    "without telling the user",
    "without telling the customer",
    "as an ai language model",
];
/// Verbs that do away with something, in the form of a command.
const DISCARDING: [&str; 7] = [
    "ignore",
    "disregard",
    "forget",
    "override",
    "bypass",
    "reveal",
    "repeat",
];
/// What such a command is about.
const DISCARDED: [&str; 10] = [
    "instruction",
    "instructions",
    "prompt",
    "prompts",
    "guidelines",
    "directives",
    "rules",
    "restrictions",
    "safeguards",
    "guardrails",
];
/// Words between the two at the most.
const REACH: usize = 6;

/// Whether a text reads like an instruction to a model: it tells it to ignore
/// what it was told, names a speaker as prompts do, holds marks of a chat
/// template or of a tool call, or tells it what it is or must do from now on.
#[must_use]
pub fn reads_like_instructions(text: &str) -> bool {
    let plain: String = text
        .nfkc()
        .filter(|c| !is_unseen(*c))
        .flat_map(char::to_lowercase)
        .collect();
    names_speaker(&plain) || holds_mark(&plain) || commands(&plain)
}

/// Characters that hide a word from those who look for it.
fn is_unseen(c: char) -> bool {
    matches!(u32::from(c),
        0x00ad | 0x034f | 0x061c | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e
        | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff | 0xe0000..=0xe0fff)
}

/// A speaker's role with a colon where a line or a sentence begins.
fn names_speaker(plain: &str) -> bool {
    plain.match_indices([':', '∶']).any(|(place, _)| {
        let before = plain[..place].trim_end_matches([' ', '*', '_', '#', ']', ')', '"', '\'']);
        ROLES.iter().chain([&HEADING]).any(|role| {
            before.strip_suffix(role).is_some_and(|rest| {
                let rest =
                    rest.trim_end_matches([' ', '*', '_', '#', '[', '(', '"', '\'', '-', '>']);
                rest.is_empty() || rest.ends_with(['\n', '\r', '\u{2028}', '.', '!', '?', ';', ':'])
            })
        })
    })
}

fn holds_mark(plain: &str) -> bool {
    let dense: String = plain.chars().filter(|c| !c.is_whitespace()).collect();
    MARKS.iter().any(|mark| dense.contains(mark))
}

fn commands(plain: &str) -> bool {
    let words: Vec<&str> = plain
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
        .collect();
    let spoken = format!(" {} ", words.join(" "));
    if PHRASES
        .iter()
        .any(|phrase| spoken.contains(&format!(" {phrase} ")))
    {
        return true;
    }
    words.iter().enumerate().any(|(place, word)| {
        let behind = words[place + 1..].iter().take(REACH);
        DISCARDING.contains(word) && behind.into_iter().any(|word| DISCARDED.contains(word))
    }) || spoken.contains(" ignore everything ")
        || spoken.contains(" ignore all previous ")
        || spoken.contains(" disregard everything ")
        || spoken.contains(" forget everything ")
}
