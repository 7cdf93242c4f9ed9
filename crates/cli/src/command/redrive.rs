//! `outbox redrive`: dead letters of a broker's queue, back to where they came from.

mod account;
mod source;

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use clap::Args;
use outbox::{
    Bypass, Redriving,
    message::Topic,
    publisher::{Redrive, RedriveError, Step},
};
use tokio::time::timeout;

use self::account::Account;
use super::save::at_least_one;
use crate::{args::duration, exit::Exit, failure::Failure, output::Output, signals};

/// Bring dead letters back from a dead-letter queue of a broker
///
/// Each is published to where it came from, and removed only after the broker confirmed it: nothing is lost, whatever fails in
/// between, and then one may come twice, with the same id. What was not asked for stays where it is, and so does what does not say,
/// nor the broker of it, where it came from. Dead letters that arrive meanwhile are left for the next time.
///
/// This is about brokers. Messages that were given up on in a store are `outbox dead`'s.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox redrive --from amqp://app@localhost --queue orders.dlq --dry-run
  outbox redrive --from redis://localhost --queue orders.dlq --reason failed --max 100
  outbox redrive --from nats://localhost --queue orders.dlq --to-topic sandbox --bypass

Exit codes: 0 done or stopped, 2 wrong option, 6 the broker (see outbox --help)")]
pub(crate) struct RedriveArgs {
    /// The broker: amqp://, amqps:// (RabbitMQ), nats://, tls:// (NATS JetStream), redis://, rediss:// (Redis)
    ///
    /// The URL is the one that messages are published with. With `layout=` and `queue=`, `stream=` or `subject=` it says where the queues are, both the dead one and those that dead letters return to, so that must have `{topic}` in it.
    #[arg(long, value_name = "URL", env = "OUTBOX_FROM", hide_env_values = true)]
    from: String,
    /// The dead-letter queue, such as orders.dlq
    #[arg(long, value_name = "NAME", value_parser = topic)]
    queue: Topic,
    /// Where all go, instead of where each came from
    #[arg(long, value_name = "TOPIC", value_parser = topic)]
    to_topic: Option<Topic>,
    /// Only the message with this id
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Only messages with this URN
    #[arg(long, value_name = "URN")]
    urn: Option<String>,
    /// Only those that died for this reason: failed, unknown_urn, or what a consumer wrote
    #[arg(long, value_name = "REASON")]
    reason: Option<String>,
    /// At most so many; those that are left where they are do not count
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    max: Option<usize>,
    /// Only say what would go where
    #[arg(long)]
    dry_run: bool,
    /// Mark them as replays, so that consumers leave out effects that reach outside: header bq-replay-bypass
    #[arg(long)]
    bypass: bool,
    /// How long reading, publishing and removing one may take
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    timeout: Duration,
}

pub(crate) async fn run(args: RedriveArgs, output: Output) -> Result<Exit, Failure> {
    let queues = source::open(&args.from)?;
    if args.bypass && !queues.keeps_headers() {
        let what =
            "--bypass needs a header, and lists have none with layout=laravel or frame=never";
        return Err(Failure::new(Exit::Input, what));
    }
    let redriving = Redriving {
        to: args.to_topic,
        bypass: if args.bypass {
            Bypass::Marked
        } else {
            Bypass::No
        },
        id: args.id,
        urn: args.urn,
        reason: args.reason,
    };
    let mut account = Account::new(&args.queue, args.dry_run);
    let signal = signals::stop()?;
    let opened = timeout(args.timeout, Redrive::open(&*queues, &args.queue)).await;
    let mut redrive = told(opened, args.timeout)?;
    let mut signal = pin!(signal);
    let mut ended = Ok(());
    while args.max.is_none_or(|max| account.redriven() < max) {
        // The one that is under way is finished first.
        if has_come(signal.as_mut()).await {
            account.stop();
            break;
        }
        let step = redrive.step(|letter| match redriving.message(letter) {
            Ok(message) => account.choose(message),
            Err(left) => account.leave(&left),
        });
        match told(timeout(args.timeout, step).await, args.timeout) {
            Ok(Step::End) => break,
            Ok(step) => account.note(&step),
            Err(failure) => {
                ended = Err(failure);
                break;
            }
        }
    }
    let closed = timeout(args.timeout, redrive.close()).await;
    let closed = told(closed, args.timeout);
    match ended.and(closed) {
        Ok(()) => {
            output.result(&account, || account.text())?;
            Ok(Exit::Done)
        }
        Err(failure) => {
            let failure = failure.also(account.text());
            output.failure_after(&failure, &account);
            Ok(failure.exit)
        }
    }
}

/// Whether it is there already.
async fn has_come(mut signal: Pin<&mut impl Future<Output = ()>>) -> bool {
    poll_fn(|cx| Poll::Ready(signal.as_mut().poll(cx).is_ready())).await
}

/// What was done in time, or why not.
fn told<T>(
    done: Result<Result<T, RedriveError>, tokio::time::error::Elapsed>,
    limit: Duration,
) -> Result<T, Failure> {
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Failure::caused(Exit::Destination, &error)),
        Err(_) => {
            let limit = humantime::format_duration(limit);
            let what = format!("the broker did not answer within {limit}");
            Err(Failure::new(Exit::Destination, what)
                .hint("a dead letter that was under way is where it was, and may have arrived all the same"))
        }
    }
}

fn topic(text: &str) -> Result<Topic, String> {
    Topic::new(text).map_err(|error| error.to_string())
}
