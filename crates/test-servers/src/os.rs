//! What only Unix can do. Elsewhere this compiles, and `Account::find` says that no server is started.

#[cfg(unix)]
pub(crate) use unix::{give, is_owned_by, link, own_group, run_as, set_mode, stop_listening};

#[cfg(not(unix))]
pub(crate) use elsewhere::{give, is_owned_by, link, own_group, run_as, set_mode, stop_listening};

#[cfg(unix)]
mod unix {
    use std::fs::{self, Permissions};
    use std::io;
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;

    /// Lets the program run as another account; its other groups are dropped too.
    pub(crate) fn run_as(command: &mut Command, uid: u32, gid: u32) {
        command.uid(uid).gid(gid);
    }

    /// Takes the program out of this one's group, which Ctrl-C ends.
    pub(crate) fn own_group(command: &mut Command) {
        command.process_group(0);
    }

    /// Ends the listening itself, so that it is over however many hold the socket: a program that was just started holds
    /// all of this one's until it has become another. Not every Unix does this; closing the socket does the rest.
    pub(crate) fn stop_listening(listener: TcpListener) {
        let _ = TcpStream::from(OwnedFd::from(listener)).shutdown(Shutdown::Both);
    }

    pub(crate) fn give(path: &Path, uid: u32, gid: u32) -> io::Result<()> {
        chown(path, Some(uid), Some(gid))
    }

    /// Says whether this is a folder, not a link to one, of this account.
    pub(crate) fn is_owned_by(folder: &Path, uid: u32) -> io::Result<bool> {
        let folder = fs::symlink_metadata(folder)?;
        Ok(folder.is_dir() && folder.uid() == uid)
    }

    pub(crate) fn link(to: &Path, path: &Path) -> io::Result<()> {
        symlink(to, path)
    }

    pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
        fs::set_permissions(path, Permissions::from_mode(mode))
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::io;
    use std::net::TcpListener;
    use std::path::Path;
    use std::process::Command;

    pub(crate) fn run_as(_: &mut Command, _: u32, _: u32) {}

    pub(crate) fn own_group(_: &mut Command) {}

    pub(crate) fn stop_listening(_: TcpListener) {}

    pub(crate) fn give(_: &Path, _: u32, _: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn is_owned_by(_: &Path, _: u32) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn link(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn set_mode(_: &Path, _: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
