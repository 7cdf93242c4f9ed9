//! How long tests took: reading libtest's lines, keeping them as text, finding the slowest.

use std::path::Path;

/// The name of a test program that cargo built: its package, and its file if it has one of its own; none for any other
/// program.
pub(crate) fn test_name(package: &str, program: &Path) -> Option<String> {
    let folder = program.parent()?.file_name()?;
    let file = program.file_stem()?.to_str()?;
    let (name, _hash) = file.rsplit_once('-')?;
    if folder != "deps" {
        return None;
    }
    let same = name == package.replace('-', "_");
    Some(if same {
        package.to_owned()
    } else {
        format!("{package}/{name}")
    })
}

/// Makes a line to keep of `test <name> ... ok <1.234s>`; none of any other line.
pub(crate) fn record(program: &str, line: &str) -> Option<String> {
    let (test, outcome) = line
        .trim_end()
        .strip_prefix("test ")?
        .rsplit_once(" ... ")?;
    let (_, time) = outcome.split_once(" <")?;
    let seconds: f64 = time.strip_suffix("s>")?.parse().ok()?;
    Some(format!("{seconds} {program} {test}\n"))
}

/// Finds the slowest tests of the kept lines, slowest first: seconds, and program with test.
pub(crate) fn slowest(kept: &str, count: usize) -> Vec<(f64, &str)> {
    let mut times: Vec<(f64, &str)> = kept
        .lines()
        .filter_map(|line| {
            let (seconds, name) = line.split_once(' ')?;
            Some((seconds.parse().ok()?, name))
        })
        .collect();
    times.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    times.truncate(count);
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_known_by_its_folder_and_named_after_its_package() {
        let name = |path| test_name("outbox-cli", Path::new(path));
        assert_eq!(
            name("target/ci/deps/outbox_cli-754717eb").as_deref(),
            Some("outbox-cli")
        );
        assert_eq!(
            name("target/ci/deps/crash-754717eb").as_deref(),
            Some("outbox-cli/crash")
        );
        assert_eq!(name("/tmp/rustdoctest-x/rust_out"), None);
        assert_eq!(name("/tmp/rustdoctest-x/rust_out-1"), None);
    }

    #[test]
    fn only_lines_with_a_time_are_kept() {
        assert_eq!(
            record("crash", "test kill::a_relay ... ok <1.204s>\n").as_deref(),
            Some("1.204 crash kill::a_relay\n")
        );
        assert_eq!(
            record("crash", "test refuses - should panic ... FAILED <0.001s>\n").as_deref(),
            Some("0.001 crash refuses - should panic\n")
        );
        for line in [
            "running 3 tests\n",
            "test a ... ok\n",
            "test result: ok. 1 passed; finished in 0.00s\n",
        ] {
            assert_eq!(record("crash", line), None, "{line}");
        }
    }

    #[test]
    fn the_slowest_come_first() {
        let kept = "0.1 a one\n2 a two\n0.5 b three\nnot a time\n";
        assert_eq!(slowest(kept, 2), [(2.0, "a two"), (0.5, "b three")]);
    }
}
