//! The files of `docs/deploy/`: the program understands what they hand to it, and they agree with each other. Whether systemd
//! and container engines understand the rest is not seen here.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::program::{Place, Ran, lines};

/// Nobody listens there.
const NOWHERE: &str = "127.0.0.1:1";

fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// What stands behind `name` and a separator on lines of a unit or of a compose file.
fn values<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let lines = text.lines().map(str::trim_start);
    let values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(['=', ':', ' ']));
    values.map(str::trim).collect()
}

fn duration(text: &str) -> Duration {
    humantime::parse_duration(text).unwrap()
}

/// Brings a file of options into the place, with secrets of its own, and the store where nobody is. Answers the names of the
/// secrets that it refers to.
fn install(place: &Place, text: &str, secrets: &str, store: &str) -> (PathBuf, BTreeSet<String>) {
    let references = text.split("${file:").skip(1);
    let paths = references.map(|rest| rest.split_once('}').unwrap().0);
    let names: BTreeSet<String> = paths
        .map(|path| path.strip_prefix(secrets).unwrap().to_owned())
        .collect();
    let folder = place.path("secrets");
    fs::create_dir(&folder).unwrap();
    for name in &names {
        fs::write(folder.join(name), "p@ss/word\n").unwrap();
    }
    assert!(text.contains(store), "{text}");
    let text = text.replace(secrets, &format!("{}/", folder.display()));
    let path = place.path("outbox.toml");
    fs::write(&path, text.replace(store, NOWHERE)).unwrap();
    (path, names)
}

/// Runs the program on the store of its file.
fn run_as_it_says(place: &Place, args: &[&str]) -> Ran {
    let mut program = place.program(args);
    program
        .env_remove("OUTBOX_STORE")
        .env("HOSTNAME", "relay-1");
    Ran::of(program.spawn().unwrap())
}

#[test]
fn the_service_of_systemd_hands_over_options_that_a_relay_works_with() {
    let place = Place::new();
    let unit = file("outbox.service");
    let secrets = "/run/credentials/outbox.service/";
    let (path, referred) = install(&place, &file("outbox.toml"), secrets, "db.example:5432");
    let loaded = values(&unit, "LoadCredential");
    let loaded = loaded.iter().map(|it| it.split_once(':').unwrap().0);
    assert_eq!(loaded.map(str::to_owned).collect::<BTreeSet<_>>(), referred);

    let command = values(&unit, "ExecStart")[0];
    let command = command.replace("/etc/outbox/outbox.toml", path.to_str().unwrap());
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    let away = run_as_it_says(&place, &args).expect(5);
    away.says(&[NOWHERE]);
    assert!(!away.stderr.contains("p@ss"), "{away:#?}");

    // It tries again after that, and not where only a person can help.
    let wrong = [&args[..], &["--lease", "long"]].concat();
    let until_empty = [&args[..], &["--until-empty"]].concat();
    let not_again = values(&unit, "RestartPreventExitStatus")[0];
    let not_again: Vec<i32> = not_again.split(' ').map(|it| it.parse().unwrap()).collect();
    let without_tables = place.run(&args, "").code.unwrap();
    let wrong = place.run(&wrong, "").code.unwrap();
    assert_eq!(not_again, [wrong, without_tables]);

    place.run(&["migrate"], "").expect(0);
    place.run(&["save"], &lines(3, 1)).expect(0);
    place.run(&until_empty, "").expect(0);
    let published = fs::read_to_string(place.path("rest.ndjson")).unwrap();
    assert_eq!(published.lines().count(), 3, "{published}");
}

#[test]
fn what_stops_a_relay_waits_for_longer_than_its_grace() {
    let options: toml::Table = file("outbox.toml").parse().unwrap();
    let grace = duration(options["relay"]["grace"].as_str().unwrap());
    let (unit, compose) = (file("outbox.service"), file("compose.yaml"));
    assert!(duration(values(&unit, "TimeoutStopSec")[0]) > grace);
    // The containers' relay has the same grace, by default.
    assert!(duration(values(&compose, "stop_grace_period")[0]) > grace);
}

#[test]
fn the_containers_find_their_options_and_their_secrets() {
    let place = Place::new();
    let (compose, image) = (file("compose.yaml"), file("Containerfile"));
    let (_, referred) = install(
        &place,
        &file("compose.toml"),
        "/run/secrets/",
        "postgres:5432",
    );
    for name in &referred {
        let bound = format!("./secrets/{name}");
        assert!(values(&compose, "file").contains(&&*bound), "{bound}");
    }
    // Without a flag that names it: the image's folder is where the program looks.
    let folder = *values(&image, "WORKDIR").last().unwrap();
    let mounted = format!("./compose.toml:{folder}/outbox.toml:ro");
    assert!(compose.contains(&mounted), "{mounted}");
    let commands = values(&compose, "command");
    assert_eq!(commands, ["[migrate]", "[relay]"]);
    for command in commands {
        let command = command.trim_matches(['[', ']']);
        let away = run_as_it_says(&place, &[command]).expect(5);
        away.says(&[NOWHERE]);
    }
}

#[test]
fn the_file_on_the_page_is_understood() {
    let place = Place::migrated();
    let page = file("../running.md");
    let (_, text) = page.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    install(&place, text, "/run/secrets/", "db/shop");
    place.run(&["save"], &lines(3, 1)).expect(0);
    for args in [&["relay", "--until-empty"][..], &["dead", "list"]] {
        let mut program = place.program(args);
        program.env("RABBITMQ_PASSWORD", "p@ss/word");
        Ran::of(program.spawn().unwrap()).expect(0);
    }
    assert!(place.path("rest.ndjson").exists());
}

#[test]
fn the_image_is_built_with_the_compiler_of_the_workspace() {
    let compiler = concat!("rust:", env!("CARGO_PKG_RUST_VERSION"), "-");
    assert!(file("Containerfile").contains(compiler), "{compiler}");
}
