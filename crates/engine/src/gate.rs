//! The gate that keeps careful service alone in its process (contract F6): ordinary runs share it, a careful one has it to itself.

use std::sync::{Arc, LazyLock};

use tokio::sync::RwLock;

/// Lets many ordinary publish calls through at once, and a careful one only when no other is in flight.
///
/// After a process died, the relay that takes over cannot know which message killed it. It hands over one
/// message in the whole process, so that the next death names its cause. All relays of a process therefore
/// share one gate, which is the default; a gate of its own makes sense in a test only.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<RwLock<()>>);

impl Gate {
    /// A gate that nobody else shares.
    pub fn new() -> Self {
        Self::default()
    }

    /// The gate that all relays of this process share.
    pub fn process_wide() -> Self {
        static GATE: LazyLock<Gate> = LazyLock::new(Gate::default);
        GATE.clone()
    }

    pub(crate) fn lock(&self) -> &RwLock<()> {
        &self.0
    }
}
