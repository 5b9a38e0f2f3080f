//! Snippets: what of memory is put before a prompt.

use keepsake_sdk::memory::SnippetOptions;
use keepsake_sdk::{Result, Session};

use crate::guide::Guide;

pub(crate) fn prompts(session: &Session, guide: &mut Guide<'_>) -> Result<()> {
    let memory = session.scope()?;
    let question = "Which plan am I on?";
    let snippet = memory.snippet(&SnippetOptions::new(question).max_facts(3))?;
    guide.say(&snippet)?;
    let small = SnippetOptions::new(question).max_tokens(40);
    guide.say(format!(
        "in 40 tokens: {} bytes",
        memory.snippet(&small)?.len()
    ))
}
