//! The layers of the workspace: which crate may point at which, and what must never be reached. Data only; a name that
//! ends in `*` stands for every crate that begins so.

/// What holds for a crate, or for a family of crates.
#[derive(Debug)]
pub(crate) struct Layer {
    /// The crate or family. The first row that matches a name is the one that holds.
    pub(crate) name: &'static str,
    /// The crates of this workspace that it may point at. It may also name what those may reach.
    pub(crate) on: &'static [&'static str],
    /// What its tree of normal dependencies never holds.
    pub(crate) never: &'static [&'static [&'static str]],
    /// With which features that tree is judged.
    pub(crate) features: &'static str,
}

/// The crate that users depend on.
pub(crate) const FACADE: &str = "outbox";
/// The only crates that may depend on the facade, in any way.
pub(crate) const ABOVE_FACADE: &[&str] = &["outbox-bench", "outbox-cli", "outbox-tests"];

/// The only features of `serde_json`. `default` is `std`, and `std` and `alloc` change no value.
pub(crate) const SERDE_JSON: &[&str] = &["default", "std", "alloc", "raw_value"];

const EVERYTHING: &[&str] = &["*"];
const IMPURE: &[&str] = &[
    "tokio*",
    "async-trait",
    "sqlx*",
    "diesel*",
    "tracing*",
    "rand",
];
const RUNTIME: &[&str] = &["tokio*", "async-std", "smol"];
const DATABASES: &[&str] = &[
    "sqlx*",
    "diesel*",
    "libsqlite3-sys",
    "rusqlite",
    "postgres",
    "tokio-postgres",
    "pq-sys",
];
const SQLX: &[&str] = &["sqlx*"];
const DIESEL: &[&str] = &["diesel*", "tokio-postgres", "pq-sys"];
const SQLITE: &[&str] = &["libsqlite3-sys", "rusqlite", "sqlx-sqlite"];
const LIBPQ: &[&str] = &["pq-sys"];
const BROKERS: &[&str] = &[
    "lapin",
    "async-nats",
    "redis",
    "rdkafka*",
    "reqwest",
    "hyper",
];

const ALL: &str = "--all-features";
const NONE: &str = "--no-default-features";

/// What every adapter to Postgres may point at.
const POSTGRES: &[&str] = &[
    "outbox-store",
    "outbox-ordering",
    "outbox-migrations",
    "outbox-store-postgres",
];

/// One row a crate or family, from the inside out.
pub(crate) const LAYERS: &[Layer] = &[
    // Domain: no IO, no runtime, no clock, no randomness.
    Layer {
        name: "outbox-message",
        on: &[],
        never: &[IMPURE],
        features: ALL,
    },
    Layer {
        name: "outbox-envelope",
        on: &["outbox-message"],
        never: &[IMPURE],
        features: ALL,
    },
    Layer {
        name: "outbox-backoff",
        on: &[],
        never: &[EVERYTHING],
        features: ALL,
    },
    Layer {
        name: "outbox-ordering",
        on: &[],
        never: &[EVERYTHING],
        features: ALL,
    },
    // Ports: traits and their errors, no runtime, no driver.
    Layer {
        name: "outbox-store",
        on: &["outbox-message"],
        never: &[RUNTIME, DATABASES, BROKERS],
        features: ALL,
    },
    Layer {
        name: "outbox-publisher",
        on: &["outbox-message"],
        never: &[RUNTIME, DATABASES, BROKERS],
        features: ALL,
    },
    // Engine: speaks to ports only.
    Layer {
        name: "outbox-engine",
        on: &[
            "outbox-ordering",
            "outbox-backoff",
            "outbox-store",
            "outbox-publisher",
        ],
        never: &[DATABASES, BROKERS],
        features: ALL,
    },
    Layer {
        name: "outbox-inbox",
        on: &["outbox-engine", "outbox-envelope", "outbox-store"],
        never: &[DATABASES, BROKERS],
        features: ALL,
    },
    // Adapters: never the engine, never each other.
    Layer {
        name: "outbox-migrations",
        on: &[],
        never: &[EVERYTHING],
        features: ALL,
    },
    Layer {
        name: "outbox-store-memory",
        on: &["outbox-store", "outbox-ordering"],
        never: &[DATABASES, BROKERS],
        features: ALL,
    },
    Layer {
        name: "outbox-store-postgres",
        on: &["outbox-store", "outbox-ordering", "outbox-migrations"],
        never: &[RUNTIME, DATABASES, BROKERS],
        features: ALL,
    },
    // Each reaches its own driver only; what is without libpq stays so.
    Layer {
        name: "outbox-store-postgres-sqlx",
        on: POSTGRES,
        never: &[DIESEL, SQLITE, BROKERS],
        features: ALL,
    },
    Layer {
        name: "outbox-store-postgres-diesel",
        on: POSTGRES,
        never: &[SQLX, SQLITE, BROKERS],
        features: ALL,
    },
    Layer {
        name: "outbox-store-*",
        on: &["outbox-store", "outbox-ordering", "outbox-migrations"],
        never: &[BROKERS],
        features: ALL,
    },
    Layer {
        name: "outbox-publisher-*",
        on: &["outbox-publisher", "outbox-envelope"],
        never: &[DATABASES],
        features: ALL,
    },
    // Around: the suites, the servers, the facade and what stands on it. Nothing that is built for users points at the
    // servers: tests do, the scenarios and xtask.
    Layer {
        name: "outbox-test-servers",
        on: &[],
        never: &[IMPURE, RUNTIME, DATABASES, BROKERS],
        features: ALL,
    },
    Layer {
        name: "outbox-testkit",
        on: &[
            "outbox-store",
            "outbox-publisher",
            "outbox-ordering",
            "outbox-store-memory",
        ],
        never: &[DATABASES, BROKERS],
        features: ALL,
    },
    Layer {
        name: FACADE,
        on: &[
            "outbox-engine",
            "outbox-inbox",
            "outbox-migrations",
            "outbox-store-*",
            "outbox-publisher-*",
            "outbox-envelope",
            "outbox-store",
            "outbox-publisher",
            "outbox-message",
        ],
        never: &[RUNTIME, DATABASES, BROKERS],
        features: NONE,
    },
    Layer {
        name: "outbox-cli",
        on: &[FACADE],
        never: &[],
        features: ALL,
    },
    Layer {
        name: "outbox-tests",
        on: &[FACADE, "outbox-testkit"],
        never: &[],
        features: ALL,
    },
    Layer {
        name: "outbox-bench",
        on: &[FACADE, "outbox-test-servers"],
        never: &[],
        features: ALL,
    },
    Layer {
        name: "outbox-instructions",
        on: &[
            "outbox-message",
            "outbox-envelope",
            "outbox-backoff",
            "outbox-ordering",
        ],
        never: &[IMPURE],
        features: ALL,
    },
    Layer {
        name: "xtask",
        on: &["outbox-test-servers"],
        never: &[],
        features: ALL,
    },
];

/// What holds for a crate that is built with fewer features than its layer is judged with.
#[derive(Debug)]
pub(crate) struct Lean {
    pub(crate) name: &'static str,
    pub(crate) features: &'static str,
    /// What its tree of normal dependencies never holds then.
    pub(crate) never: &'static [&'static [&'static str]],
}

/// Further trees to be judged.
pub(crate) const LEAN: &[Lean] = &[Lean {
    // Without its blocking connections, nobody who builds it needs libpq.
    name: "outbox-store-postgres-diesel",
    features: NONE,
    never: &[LIBPQ],
}];

/// Finds the row of a crate.
pub(crate) fn layer(name: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| matches(layer.name, name))
}

/// Says whether a name is the pattern, or in its family.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(family) => name.starts_with(family),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_holds_only_longer_names() {
        assert!(matches("outbox-store-*", "outbox-store-sqlite"));
        assert!(!matches("outbox-store-*", "outbox-store"));
        assert!(!matches("outbox-store", "outbox-store-sqlite"));
        assert!(matches("*", "anything"));
    }

    #[test]
    fn the_first_row_that_matches_holds() {
        let name = |of| layer(of).map(|layer| layer.name);
        assert_eq!(name("outbox-store-memory"), Some("outbox-store-memory"));
        assert_eq!(
            name("outbox-store-postgres-sqlx"),
            Some("outbox-store-postgres-sqlx")
        );
        assert_eq!(name("outbox-store-sqlite"), Some("outbox-store-*"));
        assert_eq!(name("outbox-shiny"), None);
    }

    #[test]
    fn every_arrow_points_at_a_row_further_in_so_that_there_is_no_cycle() {
        for (at, layer) in LAYERS.iter().enumerate() {
            for to in layer.on {
                let inner = LAYERS[..at].iter().any(|inner| inner.name == *to);
                assert!(inner, "{} -> {to}", layer.name);
            }
        }
    }

    #[test]
    fn the_servers_of_tests_are_pointed_at_by_scenarios_and_xtask_alone() {
        let on_servers = LAYERS.iter().filter(|layer| {
            let mut on = layer.on.iter();
            on.any(|to| matches(to, "outbox-test-servers"))
        });
        let names: Vec<_> = on_servers.map(|layer| layer.name).collect();
        assert_eq!(names, ["outbox-bench", "xtask"]);
    }

    #[test]
    fn every_lean_tree_is_of_a_crate_with_a_row_of_its_own() {
        for lean in LEAN {
            assert_eq!(layer(lean.name).map(|layer| layer.name), Some(lean.name));
        }
    }

    #[test]
    fn only_the_facade_points_at_more_than_one_adapter() {
        let adapter =
            |to: &str| to.starts_with("outbox-store-") || to.starts_with("outbox-publisher-");
        for layer in LAYERS.iter().filter(|layer| layer.name != FACADE) {
            assert!(
                layer.on.iter().filter(|to| adapter(to)).count() <= 1,
                "{}",
                layer.name
            );
        }
    }
}
