//! Calls that a model makes again and again, though they tell it nothing new.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::ToolCall;

/// How often the same call may give the same answer while nothing else new is
/// learned. After that it is not run any more.
pub const SAME_ANSWERS: u32 = 3;

/// What calls have answered so far.
///
/// A call that is made again is no fault by itself: a test that fails is run
/// again after each change. It is one where nothing new came of anything since.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    calls: BTreeMap<(String, String), Past>,
}

#[derive(Debug)]
struct Past {
    answer: String,
    /// Times in a row that it gave this answer, since anything new was learned.
    times: u32,
}

impl Repeats {
    /// How often the call has given its last answer, if that was too often.
    pub(super) fn too_often(&self, call: &ToolCall) -> Option<u32> {
        let past = self.calls.get(&key(call))?;
        (past.times >= SAME_ANSWERS).then_some(past.times)
    }

    /// The call was answered so.
    pub(super) fn answered(&mut self, call: &ToolCall, answer: &str) {
        let key = key(call);
        if let Some(past) = self.calls.get_mut(&key)
            && past.answer == answer
        {
            past.times += 1;
            return;
        }
        for past in self.calls.values_mut() {
            past.times = 0;
        }
        let past = Past {
            answer: answer.to_owned(),
            times: 1,
        };
        self.calls.insert(key, past);
    }
}

/// A call by its name and arguments, however those are spaced and ordered.
fn key(call: &ToolCall) -> (String, String) {
    let arguments = match serde_json::from_str::<Value>(&call.arguments) {
        Ok(arguments) => arguments.to_string(),
        Err(_) => call.arguments.clone(),
    };
    (call.name.clone(), arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: "c".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    #[test]
    fn the_same_call_with_the_same_answer_is_too_often_after_a_few_times() {
        let mut repeats = Repeats::default();
        let look = call("look", "{\"a\": 1, \"b\": 2}");
        let otherwise = call("look", "{\"b\":2,\"a\":1}");
        for _ in 0..SAME_ANSWERS {
            assert_eq!(repeats.too_often(&otherwise), None);
            repeats.answered(&look, "nothing");
        }
        assert_eq!(repeats.too_often(&otherwise), Some(SAME_ANSWERS));
        assert_eq!(repeats.too_often(&call("look", "{}")), None);
        assert_eq!(repeats.too_often(&call("find", &look.arguments)), None);
    }

    #[test]
    fn a_call_that_learns_something_new_counts_anew() {
        let mut repeats = Repeats::default();
        let look = call("look", "{}");
        for number in 0..20 {
            repeats.answered(&look, &number.to_string());
            assert_eq!(repeats.too_often(&look), None);
        }
    }

    #[test]
    fn a_test_that_fails_may_be_run_again_after_each_change() {
        let mut repeats = Repeats::default();
        let test = call("run", "{\"line\":\"make test\"}");
        for number in 0..20 {
            let change = call("write", &format!("{{\"number\":{number}}}"));
            repeats.answered(&change, "written");
            assert_eq!(repeats.too_often(&test), None);
            repeats.answered(&test, "failed");
        }
    }

    #[test]
    fn going_to_and_fro_between_two_calls_is_no_news() {
        let mut repeats = Repeats::default();
        let (look, find) = (call("look", "{}"), call("find", "{}"));
        for _ in 0..=SAME_ANSWERS {
            repeats.answered(&look, "nothing");
            repeats.answered(&find, "nothing");
        }
        assert!(repeats.too_often(&look).is_some() && repeats.too_often(&find).is_some());
    }
}
