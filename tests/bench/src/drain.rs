//! One round: relays take messages out of a database that was filled before.

use std::time::Duration;

use crate::{
    Result,
    costs::{Costs, PerMessage, ServerCosts},
    fleet::{Ended, Fleet, now},
    system::{Relaying, System},
    template::Fill,
};

/// Where rounds are run: on a server, or in files.
pub(crate) trait Ground {
    /// What was used until some moment.
    type Moment;

    /// Makes the database of the next round, filled for a system. Returns its URL.
    async fn lay(&mut self, system: &System, fill: Fill) -> Result<String>;

    /// Where costs begin.
    async fn moment(&self) -> Result<Self::Moment>;

    /// What a server used since then, once nobody is in the database any more. Nothing where there is none.
    async fn used(&self, since: &Self::Moment) -> Result<Option<ServerCosts>>;
}

/// What a round gave.
#[derive(Debug)]
pub(crate) struct Drained {
    pub(crate) messages_per_s: f64,
    pub(crate) costs: PerMessage,
}

/// Runs one round of a system until so many messages are done; all of them if that is what was filled.
pub(crate) async fn drain(
    ground: &mut impl Ground,
    system: &System,
    fill: Fill,
    how: Relaying,
    messages: u64,
) -> Result<Drained> {
    let url = ground.lay(system, fill).await?;
    let mut fleet = Fleet::start(system.relays(&url, how)?)?;
    let before = ground.moment().await?;
    let began = now()?;
    fleet.go()?;
    let mut time = fleet.wait_for(messages)?;
    if messages == fill.messages {
        time = time.max(until_recorded(system, &url, began).await?);
    }
    let ended = fleet.end()?;
    let server = ground.used(&before).await?;
    Ok(Drained {
        messages_per_s: rate(messages, time),
        costs: costs(server, &ended).per_message(messages),
    })
}

/// What programs that have ended and a server used together.
#[allow(clippy::cast_precision_loss, reason = "bytes far below 2^52")]
pub(crate) fn costs(server: Option<ServerCosts>, ended: &Ended) -> Costs {
    Costs {
        server,
        relay_cpu: ended.cpu.as_secs_f64(),
        peak_memory: ended.peak_memory as f64,
    }
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
