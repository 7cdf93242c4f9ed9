//! What the programs say, and when: the lines that `fleet.rs` reads.

use std::{
    io::{self, BufRead, Write},
    time::Duration,
};

use crate::{Result, fleet::now};

/// Says that the program is ready, and waits for the word to go.
pub(crate) fn ready() -> Result {
    say("ready")?;
    let mut word = String::new();
    io::stdin().lock().read_line(&mut word)?;
    if word == "go\n" {
        Ok(())
    } else {
        Err("there was no word to go".into())
    }
}

/// Says that so many messages more are done.
pub(crate) fn done(messages: usize) -> Result {
    say(&format!("done {messages} {}", now()?.as_micros()))
}

/// Says what was found out, at the end.
pub(crate) fn end(what: &impl serde::Serialize) -> Result {
    say(&format!("end {}", serde_json::to_string(what)?))
}

/// Completes when standard input ends.
pub(crate) async fn until_end() {
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = tell.send(());
    });
    let _ = told.await;
}

/// Between two batches of a plain queue: a while, unless the last one found something.
pub(crate) async fn pause(found: bool) {
    if !found {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn say(line: &str) -> Result {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
