//! Installing packages by apt-get, as the root of a Debian or Ubuntu: a container of continuous integration, most likely.

use std::fs;
use std::process::Command;

use crate::shell::{self, Result};

const OS_RELEASE: &str = "/etc/os-release";

/// Installs packages, saying so, and tells whether it did; it does not elsewhere, or as an ordinary user.
pub(crate) fn install(packages: &[&str]) -> Result<bool> {
    let os = fs::read_to_string(OS_RELEASE).unwrap_or_default();
    if !is_root() || !is_debian(&os) {
        return Ok(false);
    }
    println!("installing {}, as it is missing", packages.join(" and "));
    for mut command in commands(packages) {
        shell::run(
            &mut command,
            "mend what apt-get says, or set OUTBOX_TEST_POSTGRES, and so on, to the URLs of servers for tests",
        )?;
    }
    Ok(true)
}

fn commands(packages: &[&str]) -> [Command; 2] {
    let apt_get = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let mut install = apt_get(&["install", "--yes", "--no-install-recommends"]);
    install.args(packages);
    [apt_get(&["update"]), install]
}

/// Says whether a system, by its own description, is Debian or made of it.
fn is_debian(os_release: &str) -> bool {
    let values = os_release.lines().filter_map(|line| {
        line.strip_prefix("ID=")
            .or_else(|| line.strip_prefix("ID_LIKE="))
    });
    let mut names = values.flat_map(|value| value.trim_matches('"').split(' '));
    names.any(|name| name == "debian" || name == "ubuntu")
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_updated_before_exactly_the_missing_packages_are_installed() {
        let lines = commands(&["postgresql", "pgbouncer"]).map(|command| {
            let program = command.get_program().to_str().unwrap().to_owned();
            command.get_args().fold(program, |line, arg| {
                format!("{line} {}", arg.to_str().unwrap())
            })
        });
        assert_eq!(
            lines,
            [
                "apt-get update",
                "apt-get install --yes --no-install-recommends postgresql pgbouncer"
            ]
        );
        for command in commands(&["postgresql"]) {
            let asked = command.get_envs().any(|(name, value)| {
                name == "DEBIAN_FRONTEND" && value.is_some_and(|value| value == "noninteractive")
            });
            assert!(asked, "nobody is there to answer a question");
        }
    }

    #[test]
    fn debian_ubuntu_and_what_is_made_of_them_are_known() {
        assert!(is_debian("NAME=\"Debian GNU/Linux\"\nID=debian\n"));
        assert!(is_debian("ID=ubuntu\nID_LIKE=debian\n"));
        assert!(is_debian("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!is_debian("ID=fedora\nNAME=\"not debian\"\n"));
        assert!(!is_debian(""));
    }
}
