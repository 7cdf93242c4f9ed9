//! The section about the header that ties the spans of a message together.

use outbox_envelope::otel::{Parent, parent};
use serde_json::Value;

use crate::suite::{Suite, Verdict, at, equal, text};

pub(crate) fn extracted(_: &Suite, case: &Value) -> Verdict {
    equal("mode", text(case, "/mode")?, "extract")?;
    let header = at(case, "/traceparent")?.as_str();
    let parent = parent(header, text(case, "/trace_id")?).ok_or("there is no parent")?;
    let source = match parent {
        Parent::Header(_) => "traceparent",
        Parent::TraceId(_) => "trace_id",
        other => return Err(format!("unknown parent {other:?}")),
    };
    equal("source", source, text(case, "/expect/source")?)?;
    let span = parent.span();
    let trace_id = format!("{:032x}", span.trace);
    equal("trace", &*trace_id, text(case, "/expect/trace_id_hex")?)?;
    if source == "trace_id" {
        return Ok(());
    }
    let span_id = format!("{:016x}", span.id);
    equal("span", &*span_id, text(case, "/expect/parent_span_id")?)?;
    let flags = format!("{:02x}", span.flags);
    equal("flags", &*flags, text(case, "/expect/flags")?)
}
