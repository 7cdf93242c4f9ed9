//! `cargo xtask services`: the servers of the tests for people. They run on when the command has ended.

use clap::Subcommand;
use outbox_test_servers::{Missing, Postgres, Service, Services};

use crate::server::failure;
use crate::server::install::install;
use crate::shell::Result;
use crate::tools;

/// What to do with the services.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Action {
    /// Starts what does not run yet, and prints the URLs.
    Up,
    /// Stops them; what is in the databases is kept.
    Down,
    /// Prints the URLs of what runs.
    Status,
}

pub(crate) fn run(action: Action) -> Result {
    let services = Services::find().map_err(failure)?;
    match action {
        Action::Up => {
            provide()?;
            bring();
            let postgres = Postgres::find().map_err(failure)?;
            print(&services.up(&postgres).map_err(failure)?);
            println!("\nthe data:   {}", services.folder().display());
            println!("stop them:  cargo xtask services down");
        }
        Action::Down => {
            for service in services.down().map_err(failure)? {
                println!("stopped {} ({})", service.name, service.pid);
            }
        }
        Action::Status => print(&services.status()),
    }
    Ok(())
}

/// Sees to it that all of them are installed. Only Postgres is needed; what else is missing is told.
fn provide() -> Result {
    let missing = outbox_test_servers::missing();
    let packages: Vec<_> = missing
        .iter()
        .map(|Missing { package, .. }| *package)
        .collect();
    if packages.is_empty() || install(&packages)? {
        return Ok(());
    }
    println!("warning: not installed: {}", packages.join(" and "));
    Ok(())
}

/// Brings the Kafka, and the clients that `cargo test` takes where no variable names others. What cannot be had is told.
fn bring() {
    if let Err(failure) = tools::bring() {
        println!("warning: {failure}");
    }
}

fn print(services: &[Service]) {
    if services.is_empty() {
        println!("nothing runs; start it: cargo xtask services up");
    }
    for Service { name, pid, url } in services {
        println!("{name:<10}  {url}  (process {pid})");
    }
}
