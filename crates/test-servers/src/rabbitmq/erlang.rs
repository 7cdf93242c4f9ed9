//! What Erlang needs around a node: an environment in which nothing of the machine's RabbitMQ is found, and the name server
//! by which nodes find each other.

use std::io;
use std::path::Path;
use std::process::{Child, Command};

use crate::broker::{Place, Ports};
use crate::kind::EPMD;
use crate::launch::{self, Refusal};
use crate::{Error, binaries, os, wire};

/// What the distribution of Erlang may listen on, as Erlang writes it.
const LOOPBACK: &str = "-kernel inet_dist_use_interface {127,0,0,1}";

/// Sets everything that a node or a tool of RabbitMQ would otherwise take from the machine. The cookie, by which nodes
/// trust each other, is made in the home.
pub(crate) fn environment(command: &mut Command, folder: &Path, name: &str, ports: Ports) {
    for (variable, file) in [
        ("HOME", ""),
        ("RABBITMQ_MNESIA_BASE", "data"),
        ("RABBITMQ_LOG_BASE", "log"),
        ("RABBITMQ_PID_FILE", "own.pid"),
        ("RABBITMQ_CONF_ENV_FILE", "env.conf"),
        ("RABBITMQ_CONFIG_FILE", "rabbitmq.conf"),
        ("RABBITMQ_CONFIG_FILES", "conf.d"),
        ("RABBITMQ_ADVANCED_CONFIG_FILE", "advanced.config"),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", "enabled_plugins"),
    ] {
        command.env(variable, folder.join(file));
    }
    command
        .env("RABBITMQ_NODENAME", format!("{name}@localhost"))
        .env("RABBITMQ_DIST_PORT", ports.nodes.to_string())
        .env("RABBITMQ_CTL_ERL_ARGS", LOOPBACK)
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", LOOPBACK)
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("ERL_EPMD_PORT", ports.names.to_string())
        // To the log of this crate.
        .env("RABBITMQ_LOGS", "-")
        // The script becomes the node, instead of waiting for it.
        .env("RUNNING_UNDER_SYSTEMD", "true");
}

/// Starts the name server. Otherwise the node would start one, which would outlive it.
pub(crate) fn start_names(place: &Place<'_>) -> Result<Child, Refusal> {
    let program = binaries::program("epmd").ok_or_else(|| {
        Refusal::Other(Error::new(
            "epmd, the name server of Erlang, is not on PATH",
            "put it there; Debian and Ubuntu have it in erlang-base",
        ))
    })?;
    // Its command line takes no word of ours, so it is started by a name in the folder.
    let link = place.folder.join("epmd");
    link_to(&program, &link).map_err(|error| Refusal::Other(Error::path(&link, &error)))?;
    let port = place.ports.names;
    let mut command = place.command(&EPMD, &link);
    command
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .args(["-port", &port.to_string()]);
    launch::start(&EPMD, command, place.group, place.log, |_| {
        wire::accepts(port)
    })
}

fn link_to(program: &Path, link: &Path) -> io::Result<()> {
    match os::link(program, link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}
