//! Making an envelope. [`Envelope::make`] is the one place of this crate that asks for the time and for randomness.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use uuid::Uuid;

use super::{Envelope, FORBIDDEN_IN_META, SPACE, is_blank};
use crate::{
    EnvelopeError,
    json::{Object, Part, Value},
};

/// The members of `meta` that every envelope has, in their order.
const CORE_OF_META: [&str; 5] = ["id", "queue", "lang", "schema_version", "created_at"];

const FRAME: Part = Part {
    name: "envelope",
    outer: 0,
};
const DATA: Part = Part {
    name: "data",
    outer: 1,
};
const IN_META: Part = Part {
    name: "meta",
    outer: 2,
};

impl Envelope {
    /// Makes an envelope of `data` with a fresh id and trace id, of the queue `default`, created now.
    ///
    /// `job` is its URN; ASCII white space around it goes. `data` is anything that serializes to a JSON object. It is
    /// serialized twice: once to look for what cannot be written.
    ///
    /// # Errors
    ///
    /// [`EnvelopeError`] if `job` is blank, or if `data` is not an object or cannot be serialized: a float that is
    /// infinite or not a number, nesting or an integer beyond the limits of this crate, or what serde says.
    pub fn make<T: Serialize + ?Sized>(job: &str, data: &T) -> Result<Self, EnvelopeError> {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now_ms = i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX);
        Self::make_at(now_ms, Uuid::new_v4, job, data, None)
    }

    /// [`make`](Self::make) as a pure function: created at `now_ms`, in Unix milliseconds, with ids drawn from `ids`:
    /// first the trace id, unless `trace_id` gives one that is not blank, then the envelope's own.
    ///
    /// # Errors
    ///
    /// As [`make`](Self::make).
    pub fn make_at<T: Serialize + ?Sized>(
        now_ms: i64,
        mut ids: impl FnMut() -> Uuid,
        job: &str,
        data: &T,
        trace_id: Option<&str>,
    ) -> Result<Self, EnvelopeError> {
        let job = job.trim_matches(SPACE);
        if job.is_empty() {
            return Err(EnvelopeError::BlankJob);
        }
        let data = Value::object_of(DATA, data)?;
        let mut fresh = || ids().as_hyphenated().to_string();
        let trace_id = trace_id
            .filter(|given| !is_blank(given))
            .map_or_else(&mut fresh, str::to_owned);

        let mut meta = Object::default();
        meta.set("id", fresh().as_str());
        meta.set("queue", "default");
        meta.set("lang", "rust");
        meta.set("schema_version", 1);
        meta.set("created_at", now_ms);

        let mut frame = Object::default();
        frame.set("job", job);
        frame.set("trace_id", trace_id.trim_matches(SPACE));
        frame.set("data", data);
        frame.set("meta", meta);
        frame.set("attempts", 0);
        Ok(Self { frame })
    }

    /// Takes a whole envelope as it stands: nothing is added, dropped or checked, but that it is an object.
    ///
    /// It is the door for members of one's own beside the known ones. [`encode`](Self::encode) refuses what the format forbids.
    ///
    /// # Errors
    ///
    /// [`EnvelopeError`] if `frame` is not an object or cannot be serialized.
    pub fn from_frame<T: Serialize + ?Sized>(frame: &T) -> Result<Self, EnvelopeError> {
        match Value::of(FRAME, frame)? {
            Value::Object(frame) => Ok(Self { frame }),
            _ => Err(EnvelopeError::NotAnObject { part: FRAME.name }),
        }
    }

    /// The same envelope for this queue, which becomes the topic unless it is empty.
    #[must_use]
    pub fn queue(self, queue: &str) -> Self {
        self.with_meta("queue", queue)
    }

    /// The same envelope as part of this trace; ASCII white space around the id goes. A blank one changes nothing.
    #[must_use]
    pub fn trace_id(mut self, trace_id: &str) -> Self {
        if !is_blank(trace_id) {
            self.frame.set("trace_id", trace_id.trim_matches(SPACE));
        }
        self
    }

    /// The same envelope with another producer tag than `rust`, for consumers that hold to the published schema, which
    /// lists `php`, `go`, `python`, `java`, `dotnet` and `node`.
    #[must_use]
    pub fn lang(self, lang: &str) -> Self {
        self.with_meta("lang", lang)
    }

    /// The same envelope with one more member in `meta`, after the others. The format recommends `ext` for it, an object
    /// with one member a vendor.
    ///
    /// # Errors
    ///
    /// [`EnvelopeError::Key`] if the format reserves or forbids the name, [`EnvelopeError::KeySet`] if `meta` has it already,
    /// or if `value` cannot be serialized.
    pub fn meta<T: Serialize + ?Sized>(self, name: &str, value: &T) -> Result<Self, EnvelopeError> {
        let forbidden = FORBIDDEN_IN_META
            .iter()
            .any(|(forbidden, _)| *forbidden == name);
        if forbidden || CORE_OF_META.contains(&name) {
            return Err(EnvelopeError::Key {
                pointer: format!("/meta/{name}"),
            });
        }
        if self.meta_member(name).is_some() {
            return Err(EnvelopeError::KeySet {
                pointer: format!("/meta/{name}"),
            });
        }
        let value = Value::of(IN_META, value)?;
        Ok(self.with_meta(name, value))
    }

    /// Sets a member of `meta`. Where `meta` is no object, as in a frame given by hand, it becomes one.
    fn with_meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Some(Value::Object(meta)) = self.frame.get_mut("meta") {
            meta.set(name, value);
        } else {
            let mut meta = Object::default();
            meta.set(name, value);
            self.frame.set("meta", meta);
        }
        self
    }
}
