//! The exit codes of the program, in one place: what a script may rely on.

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything asked for was done.
    Done,
    /// A promise broke, or something happened that no other code stands for.
    Broken,
    /// An option or a line of input is wrong. The argument parser uses the same code.
    Input,
    /// Messages are left that `relay --until-empty` does not wait for.
    Left,
    /// The store cannot be used; trying again does not help.
    Store,
    /// The store is locked, its server does not answer, or its disk is full or failed; trying again may help.
    Busy,
    /// The destination cannot be used.
    Destination,
    /// Whoever read standard output has gone.
    Closed,
    /// No dead letter has this id or position.
    NotFound,
}

/// The table that every `--help` of the program refers to.
pub(crate) const TABLE: &str = "\
Exit codes:
  0    everything asked for was done; a graceful stop is one of these
  1    a promise broke (demo), or an error that no other code stands for
  2    an option or a line of input is wrong; nothing of that line or option was done
  3    relay --until-empty: only scheduled, held or paused messages are left, or it was stopped
       before
  4    the store cannot be used: not there, a directory, read-only, no database, no outbox tables,
       another schema version, a refused role or password; trying again does not help
  5    the store is locked, its server does not answer, or its disk is full or failed; trying again
       may help
  6    the destination cannot be used
  7    whoever read standard output has gone
  8    dead show: there is no such dead letter
  130  stopped at once by a second SIGINT; 143 by a second SIGTERM";

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Broken => 1,
            Self::Input => 2,
            Self::Left => 3,
            Self::Store => 4,
            Self::Busy => 5,
            Self::Destination => 6,
            Self::Closed => 7,
            Self::NotFound => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_code() {
        for exit in [
            Exit::Done,
            Exit::Broken,
            Exit::Input,
            Exit::Left,
            Exit::Store,
            Exit::Busy,
            Exit::Destination,
            Exit::Closed,
            Exit::NotFound,
        ] {
            let row = format!("\n  {}  ", exit.code());
            assert!(TABLE.contains(&row), "{exit:?}");
        }
    }
}
