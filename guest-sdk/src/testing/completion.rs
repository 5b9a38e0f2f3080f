//! A model's answer in a test.

use std::cell::RefCell;

use crate::error::Result;
use crate::host::CompletionHost;
use crate::model::{Answer, Delta, Response};

pub(super) struct TestCompletion(pub(super) RefCell<Answer>);

impl CompletionHost for TestCompletion {
    fn next(&self) -> Result<Option<Delta>> {
        self.0.borrow_mut().next_delta()
    }

    fn finish(&self) -> Result<Response> {
        self.0.borrow_mut().finish()
    }
}
