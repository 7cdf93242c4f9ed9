//! Relative links of Markdown pages. Web addresses and fragments are not followed.

use std::path::Path;

/// Names each relative link of a page that leads nowhere. `there` says whether a path exists, seen from the page.
pub(crate) fn offences(name: &Path, text: &str, there: impl Fn(&str) -> bool) -> Vec<String> {
    targets(text)
        .filter_map(|(line, target)| {
            let path = target.split('#').next().unwrap_or(target);
            let elsewhere = target.contains("://") || target.starts_with("mailto:");
            let broken = !elsewhere && !path.is_empty() && !there(path);
            broken.then(|| {
                format!(
                    "{}:{line}: the link to {target} leads nowhere",
                    name.display()
                )
            })
        })
        .collect()
}

/// The targets of a page's links with their line numbers; code is left out.
fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().zip(1..).flat_map(move |(line, number)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let prose = if fenced || fence { "" } else { line };
        line_targets(prose).map(move |target| (number, target))
    })
}

fn line_targets(line: &str) -> impl Iterator<Item = &str> {
    // Every second piece between backticks is code; the end of an inline link stands in the piece after its text.
    let prose = line.split('`').step_by(2);
    let inline = prose.flat_map(|piece| {
        piece
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', ' ']).next())
    });
    inline.chain(definition(line))
}

/// The target of a line like `[name]: target`.
fn definition(line: &str) -> Option<&str> {
    let (_, target) = line.strip_prefix('[')?.split_once("]: ")?;
    target.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str) -> Vec<String> {
        offences(Path::new("docs/a.md"), text, |path| path == "b.md")
    }

    #[test]
    fn a_relative_link_that_leads_nowhere_is_named_with_its_line() {
        assert_eq!(
            broken("# A\n\nSee [b](b.md), [`c`](../c.md#top) and\n[d].\n\n[d]: d.md\n"),
            [
                "docs/a.md:3: the link to ../c.md#top leads nowhere",
                "docs/a.md:6: the link to d.md leads nowhere",
            ]
        );
    }

    #[test]
    fn addresses_fragments_and_titles_are_no_paths() {
        assert!(
            broken("[w](https://example.com/x.md) [m](mailto:a@example.com) [h](#top)\n")
                .is_empty()
        );
        assert!(broken("[b](b.md#part) [b](b.md \"the other page\")\n").is_empty());
    }

    #[test]
    fn code_has_no_links() {
        assert!(broken("`f[0](x)` and\n```rust\nlet y = f[0](x);\n```\n").is_empty());
        assert_eq!(broken("```\n```\n[x](x.md)\n").len(), 1);
    }
}
