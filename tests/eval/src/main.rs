//! `make eval`: prints what recall is worth, by provider and mode.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use keepsake_eval::{
    Memory, Mode, Set, conversations, identifiers, mean_evidence_recall, other_conversations,
    places, silence, support, unrelated,
};
use keepsake_test_artifacts::HASHED_EMBEDDINGS;

/// Facts that are asked for in conversations.
const TOP: usize = 10;

fn main() -> Result<()> {
    let program = program()?;
    println!(
        "| provider | mode | support, 60: top 1 / top 5 | identifiers, 80: top 1 / top 5 \
         | unrelated, 45: silent / facts | conversations: at 5 / at 10 | other conversations: at 5 / at 10 |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, provider) in [
        ("embed-static", "embed-static"),
        ("hashed-embeddings", HASHED_EMBEDDINGS),
    ] {
        let memory = Memory::new(&program, provider)?;
        let (support, identifiers, unrelated) = (support()?, identifiers()?, unrelated()?);
        let (conversations, others) = (conversations()?, other_conversations()?);
        for set in [&support, &identifiers, &unrelated]
            .into_iter()
            .chain(&conversations)
            .chain(&others)
        {
            memory.import(set)?;
        }
        for mode in Mode::ALL {
            // Words are the same with every provider.
            if mode == Mode::Words && name != "embed-static" {
                continue;
            }
            let placed = |set: &Set| -> Result<String> {
                let places = places(&set.questions, &memory.ask(set, mode, 5)?);
                Ok(format!("{} / {}", places.top_1, places.top_5))
            };
            let evidence = |sets: &[Set]| -> Result<String> {
                let asked = sets
                    .iter()
                    .map(|set| Ok((&set.questions[..], memory.ask(set, mode, TOP)?)))
                    .collect::<Result<Vec<_>>>()?;
                let at = |top| mean_evidence_recall(&asked, top);
                Ok(format!("{:.3} / {:.3}", at(5), at(TOP)))
            };
            let (silent, facts) = silence(&memory.ask(&unrelated, mode, 5)?);
            println!(
                "| {} | {} | {} | {} | {silent} / {facts} | {} | {} |",
                if mode == Mode::Words { "any" } else { name },
                mode.name(),
                placed(&support)?,
                placed(&identifiers)?,
                evidence(&conversations)?,
                evidence(&others)?,
            );
        }
    }
    Ok(())
}

/// The program beside this one, as cargo builds them.
fn program() -> Result<PathBuf> {
    let here = std::env::current_exe()?;
    Ok(here.parent().context("there is no folder")?.join("host"))
}
