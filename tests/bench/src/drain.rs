//! One round: relays take messages out of a database that was filled before.

use std::time::Duration;

use crate::{
    Result,
    costs::PerMessage,
    fleet::{Ended, Fleet, now},
    server::Server,
    system::{Relaying, System},
    template::{Fill, Templates, WORK},
};

/// What a round gave.
#[derive(Debug)]
pub(crate) struct Drained {
    pub(crate) messages_per_s: f64,
    pub(crate) costs: PerMessage,
    pub(crate) ended: Ended,
}

/// Runs one round of a system until so many messages are done; all of them if that is what was filled.
pub(crate) async fn drain(
    server: &Server,
    templates: &mut Templates<'_>,
    system: &System,
    fill: Fill,
    how: Relaying,
    messages: u64,
) -> Result<Drained> {
    let url = templates.lay(system, fill).await?;
    let mut fleet = Fleet::start(system.relays(&url, how)?)?;
    let begin = server.moment(WORK).await?;
    let began = now()?;
    fleet.go()?;
    let mut time = fleet.wait_for(messages)?;
    if messages == fill.messages {
        time = time.max(until_recorded(system, &url, began).await?);
    }
    let ended = fleet.end()?;
    server.wait_until_left(WORK).await?;
    let mut costs = server.moment(WORK).await?.since(&begin);
    costs.relay_cpu = ended.cpu.as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "bytes far below 2^52")]
    {
        costs.peak_memory = ended.peak_memory as f64;
    }
    Ok(Drained {
        messages_per_s: rate(messages, time),
        costs: costs.per_message(messages),
        ended,
    })
}

/// Waits until nothing is left. No time if nothing was left at the first look: then the relays told the time themselves.
async fn until_recorded(system: &System, url: &str, began: Duration) -> Result<Duration> {
    let mut waited = false;
    while system.left(url).await? > 0 {
        waited = true;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let time = now()?.saturating_sub(began);
    Ok(if waited { time } else { Duration::ZERO })
}

#[allow(clippy::cast_precision_loss, reason = "counts far below 2^52")]
pub(crate) fn rate(messages: u64, time: Duration) -> f64 {
    messages as f64 / time.as_secs_f64().max(1e-9)
}
