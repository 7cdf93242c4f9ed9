//! An HTTP endpoint that keeps what it is sent, whatever happens to it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use tokio::{net::TcpListener, runtime::Runtime, sync::oneshot, task::JoinHandle, time::sleep};

type Bodies = Arc<Mutex<Vec<Bytes>>>;

pub(crate) struct Endpoint {
    address: SocketAddr,
    received: Bodies,
    answer: Duration,
    running: Option<Running>,
}

/// The threads and connections of the server.
struct Running {
    runtime: Runtime,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Endpoint {
    /// Starts one that answers so long after it has kept what came.
    pub(crate) fn start(answer: Duration) -> Self {
        let received = Bodies::default();
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        let (address, running) = serve(address, &received, answer);
        Self {
            address,
            received,
            answer,
            running: Some(running),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/{{topic}}#allow_private=true", self.address)
    }

    /// Everything that arrived, in the order in which it did.
    pub(crate) fn received(&self) -> Vec<Bytes> {
        self.received.lock().unwrap().clone()
    }

    /// Drops the connections, and the answers that were on their way.
    pub(crate) fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.runtime.shutdown_timeout(Duration::from_secs(30));
        }
    }

    /// Answers what it has begun to read, and closes.
    pub(crate) fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop.send(()).unwrap();
            running.runtime.block_on(running.serving).unwrap();
            running.runtime.shutdown_background();
        }
    }

    pub(crate) fn start_again(&mut self) {
        let (_, running) = serve(self.address, &self.received, self.answer);
        self.running = Some(running);
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.runtime.shutdown_background();
        }
    }
}

fn serve(address: SocketAddr, received: &Bodies, answer: Duration) -> (SocketAddr, Running) {
    let runtime = Runtime::new().unwrap();
    let take = async move |State(received): State<Bodies>, body: Bytes| {
        received.lock().unwrap().push(body);
        if !answer.is_zero() {
            sleep(answer).await;
        }
        StatusCode::NO_CONTENT
    };
    let app = Router::new()
        .route("/{topic}", post(take))
        .with_state(Arc::clone(received));
    let guard = runtime.enter();
    let listener = std::net::TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let listener = TcpListener::from_std(listener).unwrap();
    drop(guard);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = runtime.spawn(async move {
        let stopped = async { stopped.await.unwrap_or_default() };
        let serving = axum::serve(listener, app).with_graceful_shutdown(stopped);
        serving.await.unwrap();
    });
    let running = Running {
        runtime,
        stop,
        serving,
    };
    (address, running)
}
