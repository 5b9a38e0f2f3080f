//! What is told on the way.

use keepsake_sdk::memory::{Fact, Layer, Outcome, Recalled, Verification};
use keepsake_sdk::{Result, Session};

/// Tells a section line by line, as it goes.
pub(crate) struct Guide<'s> {
    session: &'s Session,
    text: String,
}

impl<'s> Guide<'s> {
    pub(crate) fn new(session: &'s Session, section: &str) -> Result<Self> {
        let mut guide = Self {
            session,
            text: String::new(),
        };
        guide.say(format!("# {section}"))?;
        Ok(guide)
    }

    pub(crate) fn say(&mut self, line: impl AsRef<str>) -> Result<()> {
        let line = format!("{}\n", line.as_ref());
        self.session.emit(&line)?;
        self.text.push_str(&line);
        Ok(())
    }

    /// What was recalled, a fact a line, with why.
    pub(crate) fn recalled(&mut self, facts: &[Recalled]) -> Result<()> {
        if facts.is_empty() {
            return self.say("  nothing");
        }
        for found in facts {
            let layer = match found.layer {
                Layer::This => "",
                Layer::Account => ", of the account",
                Layer::Team => ", of the team",
            };
            let fact = quoted(&found.fact);
            self.say(format!("  {:.2} {fact}{layer}", found.score.total))?;
        }
        Ok(())
    }

    pub(crate) fn text(self) -> String {
        self.text
    }
}

/// A fact's text, and whether it can be relied on.
pub(crate) fn quoted(fact: &Fact) -> String {
    let mark = match fact.verification {
        Verification::Verified => " (verified)",
        Verification::Unverified => "",
        Verification::Dangling => " (its source is gone)",
        Verification::Tampered => " (its source was altered)",
    };
    format!("\"{}\"{mark}", fact.content)
}

pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Stored => "stored",
        Outcome::Repeated => "known already, word for word",
        Outcome::Merged => "merged with what was known",
        Outcome::Superseded => "stored, and the older value ended",
        Outcome::NearDuplicate => "held back: nearly the same is known",
        Outcome::Echo => "held back: memory itself said so a moment ago",
    }
}
