//! Three relays on one file, while two writers write: each blow kills one of the relays (case 6), or ends all of their sessions
//! on the server (case 15).

use std::{
    collections::{BTreeSet, HashMap},
    env,
    fs::{self, File},
    path::Path,
    process::{Child, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    program::{Place, Ran},
    signal,
};

const RELAYS: usize = 3;
const WRITERS: usize = 2;

struct Size {
    keys_of_a_writer: usize,
    messages_of_a_key: usize,
    /// How far the writers run ahead of the relays, so that they write for as long as the blows fall.
    ahead: usize,
    blows: Blows,
    lease: &'static str,
    careful_limit: &'static str,
}

/// When a blow falls.
#[derive(Clone, Copy)]
enum Blows {
    /// This often, each after at most so many messages more.
    Messages(usize, usize),
    /// At these intervals, to the end.
    Every(Duration),
}

impl Size {
    fn chosen() -> Self {
        if env::var_os("OUTBOX_SOAK").is_some() {
            Self {
                keys_of_a_writer: 25,
                messages_of_a_key: 200,
                ahead: 1_000,
                blows: Blows::Every(Duration::from_secs(2)),
                lease: "1s",
                careful_limit: "3",
            }
        } else {
            Self {
                keys_of_a_writer: 10,
                messages_of_a_key: 40,
                ahead: 300,
                blows: Blows::Messages(5, 80),
                lease: "400ms",
                // The blows come so close together that the usual limit would blame a message for them.
                careful_limit: "1000000",
            }
        }
    }

    fn messages(&self) -> usize {
        WRITERS * self.keys_of_a_writer * self.messages_of_a_key
    }
}

#[test]
fn case_6_relays_killed_again_and_again_while_writers_write_lose_nothing_and_keep_the_order() {
    let kills = survives(|_, relays, start, random| {
        let victim = &mut relays[random.random_range(0..RELAYS)];
        victim.kill().unwrap();
        Ran::of(std::mem::replace(victim, start()));
    });
    eprintln!("{kills} relays were killed");
}

#[test]
fn case_15_relays_whose_sessions_are_ended_again_and_again_go_on_by_themselves() {
    let blows = survives(|place, _, _, _| {
        let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = ";
        let end = format!("{end}'{}'", application(place));
        place.schema().session().number(&end);
    });
    eprintln!("the sessions of all relays were ended {blows} times");
}

/// Lets blows fall while the relays work, and judges what came of it. Returns how many fell.
fn survives(blow: impl Fn(&Place, &mut Vec<Child>, &dyn Fn() -> Child, &mut StdRng)) -> usize {
    let (size, mut random) = (Size::chosen(), random());
    let place = Place::on_postgres();
    place.run(&["migrate"], "").expect(0);
    let started = AtomicUsize::new(0);
    let start = || {
        let log = place.path(&format!(
            "relay-{}.log",
            started.fetch_add(1, Ordering::Relaxed)
        ));
        relay(&place, &size, &log)
    };
    let mut relays: Vec<Child> = (0..RELAYS).map(|_| start()).collect();
    wait_for_relays(&place, &mut relays);
    let saved = AtomicUsize::new(0);
    let blows = thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (place, size, saved) = (&place, &size, &saved);
            scope.spawn(move || write(place, size, writer, saved));
        }
        let mut blows = 0;
        while wait(&place, &size, blows, &mut random) {
            expect_running(&place, &mut relays);
            blow(&place, &mut relays, &start, &mut random);
            blows += 1;
        }
        blows
    });
    assert!(blows >= 3, "only {blows} blows fell");

    for relay in &relays {
        signal(relay, "-TERM");
    }
    for relay in relays {
        Ran::of(relay).expect(0);
    }
    // What was published by somebody who could not record it any more.
    let rest = ["relay", "--to", &place.to_file(), "--until-empty"];
    place.run(&rest, "").expect(0);
    check(&place, &size);
    let status = place.status();
    assert_eq!(status["pending"]["total"], 0, "{status}");
    assert_eq!(status["dead"], 0, "{status}");
    blows
}

fn random() -> StdRng {
    let seed = match env::var("OUTBOX_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => rand::random(),
    };
    eprintln!("OUTBOX_SEED={seed}");
    StdRng::seed_from_u64(seed)
}

/// The name of the relays' sessions.
fn application(place: &Place) -> String {
    format!("relays of {}", place.schema().name).replace(' ', "-")
}

fn relay(place: &Place, size: &Size, log: &Path) -> Child {
    let store = format!("{}?application_name={}", place.store(), application(place));
    let options = ["--lease", size.lease, "--careful-limit", size.careful_limit];
    place
        .program(&["relay", "--to", &place.to_file(), "--batch", "20"])
        .args(options)
        .args(["--poll-max", "100ms"])
        .env("OUTBOX_STORE", store)
        .env("RUST_LOG", "outbox_engine=info")
        .stdout(Stdio::null())
        .stderr(File::create(log).unwrap())
        .spawn()
        .unwrap()
}

/// A program that cannot reach its store when it starts ends, and is started again by who runs it. A relay that has started
/// goes on by itself.
fn wait_for_relays(place: &Place, relays: &mut [Child]) {
    while logs(place).matches("the relay starts").count() < RELAYS {
        expect_running(place, relays);
        thread::sleep(Duration::from_millis(5));
    }
}

fn expect_running(place: &Place, relays: &mut [Child]) {
    for relay in relays {
        if let Some(ended) = relay.try_wait().unwrap() {
            panic!("a relay ended with {ended}: {}", logs(place));
        }
    }
}

/// What all relays have said.
fn logs(place: &Place) -> String {
    let names = (0..).map(|number| place.path(&format!("relay-{number}.log")));
    names
        .map_while(|name| fs::read_to_string(name).ok())
        .collect()
}

/// Saves a message of each of its keys at a time.
fn write(place: &Place, size: &Size, writer: usize, saved: &AtomicUsize) {
    for round in 0..size.messages_of_a_key {
        while saved.load(Ordering::Relaxed) > line_count(place) + size.ahead {
            thread::sleep(Duration::from_millis(5));
        }
        let line = |key| {
            let id = format!("{writer}.{key}/{round:05}");
            format!(r#"{{"topic":"orders","id":"{id}","key":"{writer}.{key}","payload":{round}}}"#)
        };
        let lines: Vec<String> = (0..size.keys_of_a_writer).map(line).collect();
        place.run(&["save"], &lines.join("\n")).expect(0);
        saved.fetch_add(lines.len(), Ordering::Relaxed);
    }
}

/// Waits for the moment of the next blow. `false` when everything has come before.
fn wait(place: &Place, size: &Size, fallen: usize, random: &mut StdRng) -> bool {
    let has_come = || ids(place).iter().collect::<BTreeSet<_>>().len() == size.messages();
    let until = match size.blows {
        Blows::Messages(count, most) if fallen < count => {
            line_count(place) + random.random_range(0..=most)
        }
        Blows::Messages(..) => usize::MAX,
        Blows::Every(period) => {
            thread::sleep(period);
            return !has_come();
        }
    };
    loop {
        let lines = line_count(place);
        if lines >= size.messages() && has_come() {
            return false;
        }
        if lines >= until {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn line_count(place: &Place) -> usize {
    let bytes = fs::read(place.path("published.ndjson")).unwrap_or_default();
    bytes.split(|byte| *byte == b'\n').count() - 1
}

/// The ids in the order in which the file received them; a line that is being written is not there yet.
fn ids(place: &Place) -> Vec<String> {
    let text = fs::read_to_string(place.path("published.ndjson")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| {
            let (_, rest) = line.split_once(r#""id":""#).unwrap();
            rest.split('"').next().unwrap().to_owned()
        })
        .collect()
}

/// Every message came, the first deliveries of each key in the order of saving.
fn check(place: &Place, size: &Size) {
    let ids = ids(place);
    let mut seen = BTreeSet::new();
    let mut first: HashMap<&str, Vec<usize>> = HashMap::new();
    for id in ids.iter().filter(|id| seen.insert(*id)) {
        let (key, round) = id.split_once('/').unwrap();
        first.entry(key).or_default().push(round.parse().unwrap());
    }
    assert_eq!(first.len(), WRITERS * size.keys_of_a_writer);
    let in_order: Vec<usize> = (0..size.messages_of_a_key).collect();
    for (key, rounds) in first {
        assert_eq!(rounds, in_order, "O11: key {key}");
    }
    eprintln!(
        "{} messages, {} duplicates, 0 lost",
        seen.len(),
        ids.len() - seen.len()
    );
}
