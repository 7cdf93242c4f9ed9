//! The cases of the publisher suite, one file for each noun. Each is named as a sentence that begins with the rule, the publisher's obligation or the field case it tests.

pub mod canceling;
pub mod checking;
pub mod confirming;
pub mod doors;
pub mod healing;
pub mod missing;
pub mod order;
pub mod refusing;
pub mod verbatim;
