//! The lines that tell how far a relay is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Prints how many messages more are done: the first at once, and those of the millisecond after it as one line.
#[derive(Clone, Debug)]
pub struct Done {
    untold: Arc<AtomicU64>,
    printer: Thread,
}

impl Done {
    /// Begins with none.
    pub fn new() -> Self {
        let untold = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&untold);
        let printer = thread::spawn(move || {
            loop {
                if tell(&told) {
                    thread::sleep(Duration::from_millis(1));
                } else {
                    thread::park();
                }
            }
        });
        let printer = printer.thread().clone();
        Self { untold, printer }
    }

    /// Counts messages that are done.
    pub fn add(&self, count: u64) {
        if count > 0 && self.untold.fetch_add(count, Ordering::AcqRel) == 0 {
            self.printer.unpark();
        }
    }

    /// Prints what is not told yet.
    pub fn flush(&self) {
        tell(&self.untold);
    }
}

impl Default for Done {
    fn default() -> Self {
        Self::new()
    }
}

/// Prints a line, and says so, if there is anything to tell. The standard output is flushed at the end of each line.
fn tell(untold: &AtomicU64) -> bool {
    let count = untold.swap(0, Ordering::AcqRel);
    if count == 0 {
        return false;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("the clock stands after 1970").as_micros();
    println!("done {count} {now}");
    true
}
