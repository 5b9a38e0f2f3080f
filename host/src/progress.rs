//! Progress of work that may take long, on a terminal only.

use std::io::IsTerminal;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Work that ends sooner shows nothing: a line that flashes up tells nobody
/// anything.
const PATIENCE: Duration = Duration::from_millis(300);

/// Shows that work is under way until it is dropped.
pub(crate) struct Working {
    done: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Shows `what` with a spinner, if the work takes longer than a moment and
/// someone sits at a terminal.
pub(crate) fn after_a_moment(what: &str) -> Working {
    if !std::io::stderr().is_terminal() {
        return Working {
            done: None,
            thread: None,
        };
    }
    let (done, end) = mpsc::channel::<()>();
    let what = what.to_owned();
    let thread = std::thread::spawn(move || {
        if end.recv_timeout(PATIENCE) != Err(mpsc::RecvTimeoutError::Timeout) {
            return;
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        // Ends when the work is dropped, which closes the channel.
        let _ = end.recv();
        bar.finish_and_clear();
    });
    Working {
        done: Some(done),
        thread: Some(thread),
    }
}

/// Shows how much of some work is done, until it is finished or dropped.
pub(crate) struct Counting {
    bar: ProgressBar,
}

/// Shows `what` with a bar, or with a count where nobody knows how much there
/// is. Shows nothing unless someone sits at a terminal.
pub(crate) fn counting(what: &str, total: Option<u64>) -> Counting {
    if !std::io::stderr().is_terminal() {
        return Counting {
            bar: ProgressBar::hidden(),
        };
    }
    let (bar, form) = match total {
        Some(total) => (
            ProgressBar::new(total),
            "{msg} {wide_bar} {human_pos}/{human_len} ({per_sec}, {eta} left)",
        ),
        None => (
            ProgressBar::new_spinner(),
            "{spinner} {msg}: {human_pos} ({per_sec})",
        ),
    };
    if let Ok(style) = ProgressStyle::with_template(form) {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    Counting { bar }
}

impl Counting {
    /// So much is done now.
    pub(crate) fn at(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Takes the bar away, before anything else is printed.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            // Joined, so that the spinner is gone before anything is printed.
            let _ = thread.join();
        }
    }
}
