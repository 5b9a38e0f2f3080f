//! What `host run` prints.

use std::cell::RefCell;

use serde_json::json;

use crate::failure::Failure;
use crate::output;
use crate::session::{Session, TurnReport};

/// Prints for a reader or for a program.
pub(super) struct Show {
    json: bool,
    interactive: bool,
    /// The steps of a turn are shown, and its reply after them.
    steps: bool,
    /// What this turn emitted so far.
    emitted: RefCell<String>,
}

impl Show {
    pub(super) fn new(json: bool, interactive: bool, steps: bool) -> Self {
        Self {
            json,
            interactive,
            steps,
            emitted: RefCell::default(),
        }
    }

    /// Tells a person which session this is, so that it can be continued.
    pub(super) fn beginning(&self, session: &Session) -> Result<(), Failure> {
        if self.interactive || self.steps {
            let verb = if session.resumed {
                "continued"
            } else {
                "begun"
            };
            output::note!(
                "session {} {verb} for {}",
                session.id,
                output::whose(&session.resource, 100)
            );
        }
        if self.interactive && !self.json {
            output::note!("Type a message and press Enter; Ctrl-D ends.");
        }
        Ok(())
    }

    pub(super) fn new_turn(&self) {
        self.emitted.borrow_mut().clear();
    }

    pub(super) fn chunk(&self, chunk: &str) -> Result<(), Failure> {
        self.emitted.borrow_mut().push_str(chunk);
        // A reply that had begun would run into the steps.
        if self.json || self.steps {
            return Ok(());
        }
        output::write(&output::printable(chunk))
    }

    pub(super) fn turn(&self, session: &Session, report: &TurnReport) -> Result<(), Failure> {
        if self.json {
            return self.turn_as_json(session, report);
        }
        let emitted = self.emitted.borrow();
        if self.steps {
            output::write(&output::printable(&emitted))?;
        }
        match &report.outcome {
            Ok(reply) => match reply.text.strip_prefix(emitted.as_str()) {
                Some(rest) => output::line(&output::printable(rest)),
                None => output::line(&format!("\n{}", output::printable(&reply.text))),
            },
            Err(failure) => {
                if !emitted.is_empty() {
                    output::line("")?;
                }
                output::note!("error: {}", failure.message());
                let details = failure.details();
                if !details.is_empty() {
                    output::note!("\n{}", details.trim_end());
                }
                Ok(())
            }
        }
    }

    /// Tells of a message that no agent was given.
    pub(super) fn unfit(&self, session: &Session, failure: &Failure) -> Result<(), Failure> {
        if !self.json {
            output::note!("{failure}");
            return Ok(());
        }
        let answer = json!({
            "session": session.id,
            "turn": null,
            "reply": null,
            "data": null,
            "emitted": "",
            "sandbox": session.sandbox(),
            "error": { "code": "message", "message": failure.message(), "details": "" },
        });
        output::json_of(&session.resource, answer)
    }

    fn turn_as_json(&self, session: &Session, report: &TurnReport) -> Result<(), Failure> {
        let (reply, data, error) = match &report.outcome {
            Ok(reply) => (Some(&reply.text), reply.data.as_ref(), None),
            Err(failure) => (
                None,
                None,
                Some(json!({
                    "code": failure.code(),
                    "message": failure.message(),
                    "details": failure.details(),
                })),
            ),
        };
        let answer = json!({
            "session": session.id,
            "turn": report.turn,
            "reply": reply,
            "data": data,
            "emitted": *self.emitted.borrow(),
            "sandbox": session.sandbox(),
            "error": error,
        });
        output::json_of(&session.resource, answer)
    }
}
