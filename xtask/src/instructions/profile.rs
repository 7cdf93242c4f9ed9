//! What callgrind wrote about one run, read as far as it is needed: the instructions of one program, without those of the
//! libraries that it loads, and its allocations.
//!
//! The file names an object (`ob=`), a function of it (`fn=`), and then what each of its instructions cost by address. After
//! `calls=` comes what a call cost in the callee, which is named on its own too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The functions through which all of Rust allocates. What they are linked to, and so their bodies, may change.
const ALLOCATE: [&str; 3] = ["__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc"];

/// What one round of a path takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Cost {
    pub(super) instructions: u64,
    pub(super) allocations: u64,
}

/// Reads the cost of one of so many rounds; none if nothing was counted, or the text is another.
pub(super) fn cost(profile: &str, program: &str, rounds: u64) -> Option<Cost> {
    let mut instructions = 0;
    // For each function that allocates, its first instruction and how often it was reached.
    let mut entries = BTreeMap::new();
    let (mut is_ours, mut function, mut is_callee) = (false, "", false);
    for line in profile.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            is_ours = object.rsplit('/').next() == Some(program);
        } else if let Some(name) = line.strip_prefix("fn=") {
            function = name.rsplit("::").next().unwrap_or(name);
        } else if line.starts_with("calls=") {
            is_callee = true;
        } else if let Some(line) = line.strip_prefix("0x") {
            let (address, count) = line.split_once(' ')?;
            if is_ours && !is_callee {
                let address = u64::from_str_radix(address, 16).ok()?;
                let count: u64 = count.parse().ok()?;
                instructions += count;
                if ALLOCATE.contains(&function) {
                    let entry = entries.entry(function).or_insert((address, count));
                    *entry = (*entry).min((address, count));
                }
            }
            is_callee = false;
        }
    }
    let allocations: u64 = entries.values().map(|(_, count)| count).sum();
    (instructions > 0).then_some(Cost {
        instructions: instructions / rounds,
        allocations: allocations / rounds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
version: 1
positions: instr
events: Ir

ob=/usr/lib/libc.so.6
fn=malloc
0x98ef0 7000

ob=/somewhere/target/instructions/outbox-instructions
fn=__rustc::__rust_alloc
0x2d8d0 60
cfn=__rustc::__rdl_alloc
calls=87798 0x53f10
0x2d8d0 2000

fn=__rustc::__rdl_alloc
0x53f10 60
cob=/usr/lib/libc.so.6
cfn=malloc
calls=87798 0x98ef0
0x53f10 7000

fn=__rustc::__rust_realloc
0x2d8f1 40
0x2d8f0 20
0x2d8f5 20

fn=alloc::raw_vec::RawVec<T,A>::grow_one
0x30000 200

totals: 7400
";

    #[test]
    fn what_the_program_does_itself_is_counted_and_what_it_calls_is_not() {
        let cost = cost(PROFILE, "outbox-instructions", 20);
        assert_eq!(
            cost,
            Some(Cost {
                instructions: (60 + 60 + 40 + 20 + 20 + 200) / 20,
                allocations: (60 + 20) / 20,
            })
        );
    }

    #[test]
    fn a_profile_of_nothing_has_no_cost() {
        assert_eq!(cost(PROFILE, "outbox", 20), None);
        assert_eq!(cost("totals: 0\n", "outbox-instructions", 20), None);
    }
}
