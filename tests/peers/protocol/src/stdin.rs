//! What the benches say while a relay runs. These functions block their thread.

use std::io::{self, Read};

use crate::Failure;

/// Says that the relay is ready, and waits for the word to begin.
pub fn wait_for_go() -> Result<(), Failure> {
    println!("ready");
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    if line.trim() == "go" {
        return Ok(());
    }
    Err(format!("go was expected, and not {line:?}").into())
}

/// Waits until nobody can say anything more. An input that breaks has ended too.
pub fn wait_for_end() {
    let mut input = io::stdin().lock();
    let mut rest = [0; 64];
    while input.read(&mut rest).is_ok_and(|read| read > 0) {}
}
