//! Which addresses belong to the public internet, and what the others are. Pure; that names are looked up and their
//! addresses held against this is in `resolver.rs`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is that is not public; `None` if it is.
///
/// An address of IPv4 inside one of IPv6 is judged by where its packets go: NAT64 leads to the address inside, so that is
/// looked at. Tunnels that nobody should meet any more (6to4, Teredo) and IPv4 in mapped form lead nowhere good.
pub(crate) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

fn of_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "unspecified",
        [10, ..] | [192, 168, ..] => "private",
        [172, second, ..] if second & 0xF0 == 16 => "private",
        [100, second, ..] if second & 0xC0 == 64 => "shared by a carrier",
        [127, ..] => "loopback",
        // The metadata services of clouds are at 169.254.169.254.
        [169, 254, ..] => "link-local",
        [192, 0, 0, _] => "for protocols",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "for documentation",
        [192, 88, 99, _] => "a relay of 6to4",
        [198, second, ..] if second & 0xFE == 18 => "for benchmarks",
        [224..=239, ..] => "multicast",
        [255, 255, 255, 255] => "broadcast",
        [240..=255, ..] => "reserved",
        _ => return None,
    })
}

fn of_v6(address: Ipv6Addr) -> Option<&'static str> {
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => "unspecified",
        [0, 0, 0, 0, 0, 0, 0, 1] => "loopback",
        [0, 0, 0, 0, 0, 0xFFFF, ..] => "IPv4 in mapped form",
        [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => return of_v4(inside(high, low)),
        [0x64, 0xFF9B, ..] => "NAT64 of a network's own",
        [0xFE80..=0xFEBF, ..] => "link-local",
        [0xFC00..=0xFDFF, ..] => "private",
        [0xFF00..=0xFFFF, ..] => "multicast",
        [0x2001, 0xDB8, ..] => "for documentation",
        [0x2001, 0, ..] => "Teredo",
        [0x2001, second, ..] if second < 0x200 => "for protocols",
        [0x2002, ..] => "6to4",
        [0x3FFF, second, ..] if second < 0x1000 => "for documentation",
        // All that was given out so far.
        [0x2000..=0x3FFF, ..] => return None,
        _ => "reserved",
    })
}

fn inside(high: u16, low: u16) -> Ipv4Addr {
    let bits = (u32::from(high) << 16) | u32::from(low);
    Ipv4Addr::from(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<&'static str> {
        not_public(text.parse().unwrap())
    }

    #[test]
    fn each_range_is_refused_from_its_first_to_its_last_address() {
        for (first, last, what) in [
            ("0.0.0.0", "0.255.255.255", "unspecified"),
            ("10.0.0.0", "10.255.255.255", "private"),
            ("100.64.0.0", "100.127.255.255", "shared by a carrier"),
            ("127.0.0.0", "127.255.255.255", "loopback"),
            ("169.254.0.0", "169.254.255.255", "link-local"),
            ("172.16.0.0", "172.31.255.255", "private"),
            ("192.0.0.0", "192.0.0.255", "for protocols"),
            ("192.0.2.0", "192.0.2.255", "for documentation"),
            ("192.88.99.0", "192.88.99.255", "a relay of 6to4"),
            ("192.168.0.0", "192.168.255.255", "private"),
            ("198.18.0.0", "198.19.255.255", "for benchmarks"),
            ("198.51.100.0", "198.51.100.255", "for documentation"),
            ("203.0.113.0", "203.0.113.255", "for documentation"),
            ("224.0.0.0", "239.255.255.255", "multicast"),
            ("240.0.0.0", "255.255.255.254", "reserved"),
            ("255.255.255.255", "255.255.255.255", "broadcast"),
            ("::", "::", "unspecified"),
            ("::1", "::1", "loopback"),
            ("::2", "::ffff", "reserved"),
            (
                "::ffff:0.0.0.0",
                "::ffff:255.255.255.255",
                "IPv4 in mapped form",
            ),
            ("64:ff9b::127.0.0.0", "64:ff9b::127.255.255.255", "loopback"),
            (
                "64:ff9b::169.254.169.254",
                "64:ff9b::169.254.169.254",
                "link-local",
            ),
            (
                "64:ff9b:1::",
                "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
                "NAT64 of a network's own",
            ),
            ("100::", "1fff::", "reserved"),
            ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "Teredo"),
            ("2001:1::", "2001:1ff:ffff::", "for protocols"),
            ("2001:db8::", "2001:db8:ffff::", "for documentation"),
            ("2002::", "2002:ffff:ffff::", "6to4"),
            ("3fff::", "3fff:fff:ffff::", "for documentation"),
            ("4000::", "fbff:ffff::", "reserved"),
            ("fc00::", "fdff:ffff::", "private"),
            ("fd00:ec2::254", "fd00:ec2::254", "private"),
            ("fe80::", "febf:ffff::", "link-local"),
            ("fec0::", "feff:ffff::", "reserved"),
            ("ff00::", "ffff:ffff::", "multicast"),
        ] {
            assert_eq!(
                (of(first), of(last)),
                (Some(what), Some(what)),
                "{first} {last}"
            );
        }
    }

    #[test]
    fn what_lies_beside_the_ranges_is_public() {
        for text in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7:ffff::",
            "2001:db9::",
            "2001:4860:4860::8888",
            "2003::",
            "2606:4700::1111",
            "3fff:1000::",
            "64:ff9b::8.8.8.8",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn every_net_of_16_bits_agrees_with_the_standard_library() {
        for high in 0..=u16::MAX {
            let [a, b] = high.to_be_bytes();
            let address = Ipv4Addr::new(a, b, 1, 7);
            let known = address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast()
                || address.is_unspecified();
            assert!(!known || of_v4(address).is_some(), "{address}");
        }
    }
}
