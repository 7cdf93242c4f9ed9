//! What holds for every manifest.

use crate::metadata::{Kind, Package};

const LICENSE: &str = "MIT OR Apache-2.0";

/// Names what a manifest lacks or has too much. `text` is the manifest itself.
pub(crate) fn offences(package: &Package, text: &str) -> Vec<String> {
    let mut offences = Vec::new();
    let name = &package.name;
    if package.license.as_deref() != Some(LICENSE) {
        offences.push(format!(
            "{name}: the license is `{LICENSE}`: license.workspace = true"
        ));
    }
    if package.is_published()
        && package
            .description
            .as_deref()
            .unwrap_or_default()
            .is_empty()
    {
        offences.push(format!("{name}: a published crate has a description"));
    }
    if !has_workspace_lints(text) {
        offences.push(format!("{name}: [lints] workspace = true is missing"));
    }
    for dependency in &package.dependencies {
        // With a version, a cycle of tests would have to be published before itself.
        let versioned = dependency.path.is_some() && dependency.req != "*";
        if dependency.kind == Some(Kind::Dev) && versioned {
            let to = &dependency.name;
            offences.push(format!(
                "{name}: the dev-dependency on {to} has a version: write {to} = {{ path = \"..\" }}"
            ));
        }
    }
    offences
}

fn has_workspace_lints(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.any(|line| line == "[lints]") && lines.next() == Some("workspace = true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    const LINTS: &str = "[package]\n\n[lints]\nworkspace = true\n";

    fn package() -> Package {
        Package {
            name: "outbox-store".into(),
            license: Some(LICENSE.into()),
            description: Some("The store port".into()),
            ..Package::default()
        }
    }

    #[test]
    fn a_complete_manifest_has_no_offences() {
        assert!(offences(&package(), LINTS).is_empty());
    }

    #[test]
    fn a_missing_field_is_named() {
        let bare = Package {
            license: None,
            description: None,
            ..package()
        };
        assert_eq!(
            offences(&bare, "[package]\n"),
            [
                "outbox-store: the license is `MIT OR Apache-2.0`: license.workspace = true",
                "outbox-store: a published crate has a description",
                "outbox-store: [lints] workspace = true is missing",
            ]
        );
    }

    #[test]
    fn a_version_on_an_internal_dev_dependency_is_named() {
        let on = |kind, req: &str, path: Option<&str>| Dependency {
            name: "outbox-testkit".into(),
            kind,
            req: req.into(),
            path: path.map(Into::into),
        };
        let with = |dependency| Package {
            dependencies: vec![dependency],
            ..package()
        };
        let inside = Some("/somewhere");
        assert_eq!(
            offences(&with(on(Some(Kind::Dev), "^0.1.0", inside)), LINTS),
            [
                "outbox-store: the dev-dependency on outbox-testkit has a version: write outbox-testkit = { path = \"..\" }"
            ]
        );
        assert!(offences(&with(on(Some(Kind::Dev), "*", inside)), LINTS).is_empty());
        assert!(offences(&with(on(Some(Kind::Dev), "^0.1.0", None)), LINTS).is_empty());
        assert!(offences(&with(on(None, "^0.1.0", inside)), LINTS).is_empty());
    }
}
