//! The query of a request. A name may stand there several times.

use crate::answer::Failure;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::convert::Infallible;

/// Names and values, decoded, in the order in which they were sent.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// All values of a name.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
            .collect()
    }

    /// The first value of a name, unless it is empty.
    pub(crate) fn one(&self, name: &str) -> Option<String> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        (!value.is_empty()).then(|| value.clone())
    }

    /// A value that has to be there.
    pub(crate) fn need(&self, name: &str) -> Result<String, Failure> {
        self.one(name).ok_or_else(|| Failure::missing_query(name))
    }

    /// A number of at least `least`, if there is one.
    pub(crate) fn number(&self, name: &str, least: usize) -> Result<Option<usize>, Failure> {
        let Some(value) = self.one(name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(number) if number >= least => Ok(Some(number)),
            _ => Err(Failure::invalid(format!(
                "invalid query parameter '{name}': {value}"
            ))),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        ))
    }
}
