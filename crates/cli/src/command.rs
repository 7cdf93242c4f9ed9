//! The commands, one module each.

pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod dead;
pub(crate) mod demo;
pub(crate) mod migrate;
pub(crate) mod pause;
pub(crate) mod purge;
pub(crate) mod redrive;
pub(crate) mod relay;
pub(crate) mod replay;
pub(crate) mod save;
pub(crate) mod status;
pub(crate) mod topics;

use crate::{args::Command, exit::Exit, failure::Failure, output::Output};

pub(crate) async fn run(command: Command, output: Output) -> Result<Exit, Failure> {
    match command {
        Command::Migrate(args) => migrate::run(args, output).await,
        Command::Save(args) => save::run(args, output).await,
        Command::Relay(args) => relay::run(*args, output).await,
        Command::Dead(args) => dead::run(args, output).await,
        Command::Redrive(args) => redrive::run(*args, output).await,
        Command::Replay(args) => replay::run(*args, output).await,
        Command::Audit(args) => audit::run(args, output).await,
        Command::Status(args) => status::run(args, output).await,
        Command::Check(args) => check::run(args, output).await,
        Command::Topics(args) => topics::run(args, output).await,
        Command::Pause(args) => pause::run(args, output).await,
        Command::Resume(args) => pause::resume(args, output).await,
        Command::Purge(args) => purge::run(args, output).await,
        Command::Demo(args) => demo::run(args, output).await,
    }
}
