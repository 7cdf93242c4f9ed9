//! What the tests of brokers share: connections that do not hang a test, TLS, and programs that leave servers behind.
use std::env;
use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Tells this program, started again by a test, to leave servers behind in that folder.
const LEAVE_IN: &str = "OUTBOX_LEAVE_IN";

/// How long a read waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timeout {
    /// For one that must not come: a slow machine lets such a test pass, never fail.
    Short,
    /// For one that must come.
    Long,
}

/// Sets how long the next reads wait.
pub(crate) fn wait(stream: &TcpStream, timeout: Timeout) {
    let timeout = match timeout {
        Timeout::Short => Duration::from_millis(100),
        Timeout::Long => Duration::from_mins(1),
    };
    stream
        .set_read_timeout(Some(timeout))
        .expect("a timeout can be set");
}

pub(crate) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("somebody listens");
    wait(&stream, Timeout::Long);
    stream
}

/// Speaks TLS from here on, with a server whose certificate this authority has signed.
pub(crate) fn tls(stream: TcpStream, ca: &Path) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(ca).expect("the file has a certificate"))
        .expect("it is one of an authority");
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").expect("an address is a name");
    StreamOwned::new(
        ClientConnection::new(Arc::new(config), name).expect("the settings are whole"),
        stream,
    )
}

/// Reads a line that ends as the protocols of the Internet end theirs.
pub(crate) fn read_line(stream: &mut impl Read) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a whole line comes");
        line.push(byte[0]);
    }
    String::from_utf8(line)
        .expect("a line is text")
        .trim_end()
        .to_owned()
}

pub(crate) fn lives(pid: u32) -> bool {
    if Path::new("/proc/self/cmdline").exists() {
        // One that has ended and was not waited for has no words any more.
        let words = fs::read(format!("/proc/{pid}/cmdline"));
        return words.is_ok_and(|words| !words.is_empty());
    }
    let line = format!("kill -s 0 {pid}");
    let status = Command::new("sh")
        .args(["-c", &line])
        .output()
        .expect("it can be run");
    status.status.success()
}

/// Runs this test again in another program, which starts servers in a new folder and ends without dropping them. Returns
/// the process ids.
pub(crate) fn leave_behind(
    test: &str,
    folder: &Path,
    start: impl FnOnce(&Path) -> Vec<u32>,
) -> Vec<u32> {
    if let Some(folder) = env::var_os(LEAVE_IN) {
        let folder = PathBuf::from(folder);
        let pids = start(&folder);
        let lines: Vec<_> = pids.iter().map(u32::to_string).collect();
        fs::write(folder.join("left"), lines.join("\n")).expect("the folder is there");
        exit(0);
    }
    let _ = fs::remove_dir_all(folder);
    let mut killed = Command::new(env::current_exe().expect("this program has a path"));
    killed.args(["--exact", test]).env(LEAVE_IN, folder);
    let output = killed.output().expect("it can be run");
    assert!(output.status.success(), "{output:?}");
    let left = fs::read_to_string(folder.join("left")).expect("it told what it left");
    left.lines()
        .map(|pid| pid.parse().expect("an id is a number"))
        .collect()
}
