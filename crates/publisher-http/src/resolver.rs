//! Looks names up and gives only such addresses as may be connected to. What is connected to is what was looked at here, so a
//! name cannot change its address in between. Hosts that are addresses themselves never come here; the configuration judges them.

use std::{error::Error, fmt, io, net::SocketAddr, sync::Arc};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address;

/// Looks names up with the operating system.
pub(crate) struct Resolver {
    pub(crate) allow_private: bool,
    /// The proxy's host, which the user has chosen.
    pub(crate) proxy: Option<String>,
}

/// Why a name gives nothing to connect to.
#[derive(Debug)]
pub(crate) enum NameError {
    /// It was not found, or could not be looked up.
    Unknown {
        host: String,
        /// Shared, so that it can be told without what the client wraps around it.
        source: Arc<io::Error>,
    },
    /// It is known, and none of its addresses is public.
    NotPublic {
        host: String,
        address: SocketAddr,
        what: &'static str,
    },
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let any = self.allow_private || self.proxy.as_deref() == Some(&*host);
        Box::pin(async move {
            let found = look_up(&host).await;
            let found = match found {
                Ok(found) => found,
                Err(source) => {
                    let source = Arc::new(source);
                    return Err(NameError::Unknown { host, source }.into());
                }
            };
            let chosen = choose(host, found, any)?;
            let addresses: Addrs = Box::new(chosen.into_iter());
            Ok(addresses)
        })
    }
}

async fn look_up(host: &str) -> io::Result<Vec<SocketAddr>> {
    let found = tokio::net::lookup_host((host, 0)).await?;
    Ok(found.collect())
}

/// Those of the addresses that may be connected to.
fn choose(host: String, found: Vec<SocketAddr>, any: bool) -> Result<Vec<SocketAddr>, NameError> {
    let (mut chosen, mut refused) = (Vec::new(), None);
    for address in found {
        match address::not_public(address.ip()) {
            Some(what) if !any => refused = Some((address, what)),
            _ => chosen.push(address),
        }
    }
    match refused {
        _ if !chosen.is_empty() => Ok(chosen),
        Some((address, what)) => Err(NameError::NotPublic {
            host,
            address,
            what,
        }),
        None => Err(NameError::Unknown {
            host,
            source: Arc::new(io::Error::new(
                io::ErrorKind::NotFound,
                "the name has no address",
            )),
        }),
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { host, .. } => {
                write!(f, "the name {host} was not found; correct the URL")
            }
            Self::NotPublic {
                host,
                address,
                what,
            } => write!(
                f,
                "the name {host} leads to {}, which is {what} and not a public address; behind the # of the URL write \
                 allow_private=true if it is meant",
                address.ip()
            ),
        }
    }
}

impl Error for NameError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unknown { source, .. } => Some(source),
            Self::NotPublic { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(found: &[&str], any: bool) -> Result<Vec<String>, String> {
        let found = found
            .iter()
            .map(|text| SocketAddr::new(text.parse().unwrap(), 0));
        let chosen = choose("h".to_owned(), found.collect(), any);
        let chosen = chosen.map_err(|error| error.to_string())?;
        Ok(chosen
            .iter()
            .map(|address| address.ip().to_string())
            .collect())
    }

    #[test]
    fn only_public_addresses_of_a_name_are_connected_to() {
        let mixed = ["10.0.0.1", "1.1.1.1", "::1", "2606:4700::1111"];
        assert_eq!(
            chosen(&mixed, false).unwrap(),
            ["1.1.1.1", "2606:4700::1111"]
        );
        assert_eq!(chosen(&mixed, true).unwrap(), mixed);
        let refused = chosen(&["169.254.169.254"], false).unwrap_err();
        assert!(
            refused.contains("169.254.169.254, which is link-local"),
            "{refused}"
        );
        assert!(chosen(&[], true).unwrap_err().contains("was not found"));
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_refused_after_it_was_looked_up() {
        let resolve = async |allow_private, proxy: Option<&str>| {
            let proxy = proxy.map(str::to_owned);
            let resolver = Resolver {
                allow_private,
                proxy,
            };
            let found = resolver.resolve("localhost".parse().unwrap()).await;
            found
                .map(Iterator::count)
                .map_err(|error| error.to_string())
        };
        let refused = resolve(false, None).await.unwrap_err();
        assert!(
            refused.contains("localhost") && refused.contains("loopback"),
            "{refused}"
        );
        assert!(resolve(true, None).await.unwrap() > 0);
        assert!(resolve(false, Some("localhost")).await.unwrap() > 0);
        assert!(resolve(false, Some("proxy")).await.is_err());
    }
}
