//! An address that leads to one server and later to another, as the address of a cluster does after a failover.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// The address. Connections that are open stay with the server that they were made to.
pub(crate) struct Proxy {
    port: u16,
    to: Arc<AtomicU16>,
    _task: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let to = Arc::new(AtomicU16::new(port));
        let mut task = JoinSet::new();
        task.spawn(serve(listener, Arc::clone(&to)));
        Self {
            port: own,
            to,
            _task: task,
        }
    }

    /// Leads to this port from now on.
    pub(crate) fn turn(&self, port: u16) {
        self.to.store(port, Ordering::Relaxed);
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

async fn serve(listener: TcpListener, to: Arc<AtomicU16>) {
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let to = Arc::clone(&to);
        connections.spawn(async move {
            let server = (Ipv4Addr::LOCALHOST, to.load(Ordering::Relaxed));
            // A client whose server is gone sees its connection close.
            if let Ok(mut server) = TcpStream::connect(server).await {
                copy_bidirectional(&mut client, &mut server).await.ok();
            }
        });
    }
}
