//! When a request is sent again.

use std::time::{Duration, SystemTime};

use ::http::header::RETRY_AFTER;
use ::http::{HeaderMap, StatusCode};

use super::error::HttpError;
use super::response::Response;

/// How often a request is sent, and how long it waits in between: twice as long
/// each time, less a random part, so that many plugins do not come back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often it is sent in all; at least once.
    pub tries: u32,
    /// How long the first wait may be.
    pub first_wait: Duration,
    /// How long any wait may be.
    pub longest_wait: Duration,
    /// The longest `Retry-After` that is waited for. A server that wants more
    /// time is not asked again: its answer is given instead.
    pub longest_retry_after: Duration,
}

impl Default for Retry {
    /// Three tries, with waits of half a second and a second, and up to ten
    /// seconds where the server asks for them: a turn waits for this.
    fn default() -> Self {
        Self {
            tries: 3,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(8),
            longest_retry_after: Duration::from_secs(10),
        }
    }
}

impl Retry {
    /// How long to wait before the next try; none when there is none.
    pub(super) fn after_answer(
        &self,
        tried: u32,
        response: &Response,
        random: f64,
    ) -> Option<Duration> {
        if tried >= self.tries || !may_pass(response.status()) {
            return None;
        }
        match response.retry_after() {
            Some(wanted) if wanted > self.longest_retry_after => None,
            Some(wanted) => Some(wanted),
            None => Some(self.wait(tried, random)),
        }
    }

    pub(super) fn after_error(
        &self,
        tried: u32,
        error: &HttpError,
        random: f64,
    ) -> Option<Duration> {
        (tried < self.tries && error.kind.may_pass()).then(|| self.wait(tried, random))
    }

    fn wait(&self, tried: u32, random: f64) -> Duration {
        let doublings = tried.saturating_sub(1).min(31);
        let wait = self.first_wait.saturating_mul(1 << doublings);
        wait.min(self.longest_wait)
            .mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
    }
}

/// Whether a server that answers so may answer otherwise a moment later.
pub(super) fn may_pass(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || status.is_server_error()
            && status != StatusCode::NOT_IMPLEMENTED
            && status != StatusCode::HTTP_VERSION_NOT_SUPPORTED
}

/// How long `Retry-After` asks to wait: it gives seconds or a date.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    // A date that is past means now.
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::{HttpErrorKind, Request};
    use super::*;
    use crate::testing::{Host, HttpAnswer};

    /// What a request ends with, how often it was sent and what it waited for.
    fn sent(answers: Vec<HttpAnswer>) -> (Result<u16, HttpErrorKind>, usize, Vec<Duration>) {
        let host = answers.into_iter().fold(Host::new(), Host::http_answers);
        let request = Request::get("https://a.example").unwrap();
        let answer = host
            .context()
            .http()
            .send_retrying(&request, &Retry::default());
        let answer = answer.map(|response| response.status().as_u16());
        let answer = answer.map_err(|error| error.kind);
        (answer, host.http_requests().len(), host.waits())
    }

    fn milliseconds(numbers: &[u64]) -> Vec<Duration> {
        numbers.iter().copied().map(Duration::from_millis).collect()
    }

    #[test]
    fn a_server_that_recovers_is_answered_for_after_growing_waits() {
        let answers = vec![
            HttpAnswer::new(500),
            HttpAnswer::new(429),
            HttpAnswer::new(200),
        ];
        assert_eq!(sent(answers), (Ok(200), 3, milliseconds(&[500, 1_000])));
        let answers = vec![
            HttpAnswer::fails(HttpErrorKind::Refused),
            HttpAnswer::new(200),
        ];
        assert_eq!(sent(answers), (Ok(200), 2, milliseconds(&[500])));
    }

    #[test]
    fn tries_are_bounded_and_the_last_answer_is_given() {
        let answers = (0..9).map(|_| HttpAnswer::new(503)).collect();
        let (answer, tries, _) = sent(answers);
        assert_eq!((answer, tries), (Ok(503), 3));
        let answers = (0..9)
            .map(|_| HttpAnswer::fails(HttpErrorKind::Dns))
            .collect();
        let (answer, tries, _) = sent(answers);
        assert_eq!((answer, tries), (Err(HttpErrorKind::Dns), 3));
    }

    #[test]
    fn what_trying_again_cannot_change_is_sent_once() {
        for status in [200, 302, 400, 401, 404, 413, 501, 505] {
            assert_eq!(sent(vec![HttpAnswer::new(status)]), (Ok(status), 1, vec![]));
        }
        for kind in [
            HttpErrorKind::Denied,
            HttpErrorKind::Tls,
            HttpErrorKind::TimedOut,
            HttpErrorKind::Protocol,
        ] {
            assert_eq!(sent(vec![HttpAnswer::fails(kind)]), (Err(kind), 1, vec![]));
        }
    }

    #[test]
    fn retry_after_is_kept_to_in_seconds_and_as_a_date() {
        // The clock of tests stands at 2026-01-01.
        for (value, wait) in [
            ("7", 7_000),
            ("0", 0),
            ("Thu, 01 Jan 2026 00:00:09 GMT", 9_000),
            ("Wed, 31 Dec 2025 00:00:00 GMT", 0),
            ("soon", 500),
        ] {
            let busy = HttpAnswer::new(429).header("Retry-After", value);
            let (answer, _, waits) = sent(vec![busy, HttpAnswer::new(200)]);
            assert_eq!((answer, waits), (Ok(200), milliseconds(&[wait])), "{value}");
        }
    }

    #[test]
    fn a_server_that_wants_an_hour_is_not_waited_for() {
        let busy = HttpAnswer::new(429).header("Retry-After", "3600");
        assert_eq!(sent(vec![busy]), (Ok(429), 1, vec![]));
    }

    #[test]
    fn waits_double_up_to_the_longest_and_vary_by_half() {
        let retry = Retry::default();
        assert_eq!(retry.wait(3, 0.0), Duration::from_secs(2));
        assert_eq!(retry.wait(3, 1.0), Duration::from_secs(1));
        for tried in [5, 40, u32::MAX] {
            assert_eq!(retry.wait(tried, 0.0), Duration::from_secs(8));
        }
    }
}
