//! Judges the edges between members of the workspace against the table.

use std::collections::BTreeSet;

use super::table::{self, ABOVE_FACADE, FACADE};
use crate::metadata::{Kind, Package};

/// Names each edge that is no arrow, and each crate that has no layer.
pub(crate) fn offences(packages: &[Package]) -> Vec<String> {
    let mut offences = Vec::new();
    for package in packages {
        if table::layer(&package.name).is_none() {
            offences.push(format!(
                "{} has no row in the table of layers",
                package.name
            ));
            continue;
        }
        let reached = reach(&package.name, packages);
        for dependency in &package.dependencies {
            let (from, to) = (package.name.as_str(), dependency.name.as_str());
            let inside = dependency.path.is_some();
            if to == FACADE && !ABOVE_FACADE.contains(&from) {
                offences.push(format!(
                    "{from} -> {to}: only {} stand on the facade",
                    ABOVE_FACADE.join(" and ")
                ));
            } else if inside && dependency.kind != Some(Kind::Dev) && !reached.contains(to) {
                offences.push(format!("{from} -> {to} is not an arrow"));
            }
        }
    }
    offences
}

/// The members that a crate may reach by the table's arrows.
fn reach<'a>(from: &str, packages: &'a [Package]) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut todo = vec![from];
    while let Some(name) = todo.pop() {
        let on = table::layer(name).map_or(&[][..], |layer| layer.on);
        for package in packages {
            let arrow = on
                .iter()
                .any(|pattern| table::matches(pattern, &package.name));
            if arrow && reached.insert(package.name.as_str()) {
                todo.push(&package.name);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn package(name: &str, on: &[(&str, Option<Kind>)]) -> Package {
        let dependencies = on.iter().map(|(name, kind)| Dependency {
            name: (*name).into(),
            kind: *kind,
            path: Some(name.into()),
            ..Dependency::default()
        });
        Package {
            name: name.into(),
            dependencies: dependencies.collect(),
            ..Package::default()
        }
    }

    #[test]
    fn an_edge_against_the_arrows_is_named() {
        let packages = [
            package("outbox-message", &[]),
            package("outbox-store", &[("outbox-message", None)]),
            package(
                "outbox-engine",
                &[("outbox-store", None), ("outbox-store-sqlite", None)],
            ),
            package(
                "outbox-store-sqlite",
                &[("outbox-store", None), ("outbox-engine", Some(Kind::Build))],
            ),
        ];
        assert_eq!(
            offences(&packages),
            [
                "outbox-engine -> outbox-store-sqlite is not an arrow",
                "outbox-store-sqlite -> outbox-engine is not an arrow",
            ]
        );
    }

    #[test]
    fn a_crate_may_name_what_its_arrows_reach() {
        let packages = [
            package("outbox-message", &[]),
            package("outbox-store", &[("outbox-message", None)]),
            package("outbox-engine", &[("outbox-message", None)]),
            package("outbox", &[("outbox-engine", None)]),
            package("outbox-cli", &[("outbox-engine", None), ("outbox", None)]),
        ];
        assert!(offences(&packages).is_empty());
    }

    #[test]
    fn tests_of_a_crate_may_use_any_crate_but_the_facade() {
        let dev = Some(Kind::Dev);
        let packages = [
            package(
                "outbox-store-memory",
                &[("outbox-testkit", dev), ("outbox", dev)],
            ),
            package("outbox-testkit", &[]),
            package("outbox", &[]),
            package("outbox-tests", &[("outbox", dev)]),
        ];
        assert_eq!(
            offences(&packages),
            [
                "outbox-store-memory -> outbox: only outbox-bench and outbox-cli and outbox-tests stand on the facade"
            ]
        );
    }

    #[test]
    fn a_crate_without_a_layer_is_named() {
        let packages = [package("outbox-shiny", &[])];
        assert_eq!(
            offences(&packages),
            ["outbox-shiny has no row in the table of layers"]
        );
    }
}
