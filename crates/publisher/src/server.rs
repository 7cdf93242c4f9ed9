//! One server of a URL that names several, for adapters whose URLs the crate `url` cannot read.

/// The two parts of `host`, `host:port`, `[address]` or `[address]:port`, the brackets with the host; `None` if it is none of these.
pub fn host_and_port(server: &str, default_port: u16) -> Option<(&str, u16)> {
    let after_host = match server.strip_prefix('[') {
        Some(address) => address.find(']')? + 2,
        None => server.find(':').unwrap_or(server.len()),
    };
    let (host, port) = server.split_at(after_host);
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port != 0)?,
        None if port.is_empty() => default_port,
        None => return None,
    };
    let is_written = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let fits = match host.strip_prefix('[') {
        Some(address) => address
            .trim_end_matches(']')
            .parse::<std::net::Ipv6Addr>()
            .is_ok(),
        None => !host.is_empty() && host.chars().all(is_written),
    };
    fits.then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_with_or_without_a_port() {
        let parts = |server| host_and_port(server, 4222);
        assert_eq!(parts("h"), Some(("h", 4222)));
        assert_eq!(parts("mq-1.example.org:1"), Some(("mq-1.example.org", 1)));
        assert_eq!(parts("[::1]"), Some(("[::1]", 4222)));
        assert_eq!(parts("[::1]:4333"), Some(("[::1]", 4333)));
        for server in [
            "", ":4222", "[]", "[::1]x", "[x]", "a b", "a:b:1", "a:", "a:0", "a:65536",
        ] {
            assert_eq!(parts(server), None, "{server}");
        }
    }
}
