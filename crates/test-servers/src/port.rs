//! A free port of the loopback device, below those that systems give to outgoing connections: while a server restarts, a
//! client that tries again must not be given its port, or even be connected with itself.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};

use crate::{Error, Result};

const FIRST: u16 = 17_000;
const COUNT: u16 = 13_000;

/// Finds a port on which nobody listens, this one if possible. Somebody may take it before the server does; whoever
/// starts a server tries again with another.
pub(crate) fn free(preferred: Option<u16>) -> Result<u16> {
    let start = RandomState::new().build_hasher().finish() % u64::from(COUNT);
    let start = u16::try_from(start).expect("a remainder of a u16 is a u16");
    let others = (0..COUNT).map(|step| FIRST + (start + step) % COUNT);
    preferred
        .into_iter()
        .chain(others)
        .find(|port| is_free(*port))
        .ok_or_else(|| Error::new("no port is free", "end some of the servers on this machine"))
}

/// Finds so many different ones, the first as [`free`] does.
pub(crate) fn free_ones<const COUNT: usize>(preferred: Option<u16>) -> Result<[u16; COUNT]> {
    let mut ports = [0; COUNT];
    // Those that were found are held until all are.
    let mut held = Vec::new();
    for (index, port) in ports.iter_mut().enumerate() {
        *port = free(preferred.filter(|_| index == 0))?;
        held.push(TcpListener::bind((Ipv4Addr::LOCALHOST, *port)));
    }
    Ok(ports)
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_port_is_taken_unless_somebody_listens_there() {
        let port = free(None).unwrap();
        assert!((FIRST..FIRST + COUNT).contains(&port));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken = listener.local_addr().unwrap().port();
        assert_ne!(free(Some(taken)).unwrap(), taken);
    }
}
