//! The sections about data and its schema.

use outbox_envelope::schema::{InvalidData, Schema};
use serde_json::Value;

use crate::suite::{Suite, Verdict, at, equal, truth};

pub(crate) fn checked(suite: &Suite, case: &Value) -> Verdict {
    of_section(suite, case, "/payload_schema/schema")
}

pub(crate) fn checked_unicode(suite: &Suite, case: &Value) -> Verdict {
    of_section(suite, case, "/payload_schema_unicode/schema")
}

fn of_section(suite: &Suite, case: &Value, schema: &str) -> Verdict {
    let schema = at(&suite.manifest, schema)?.to_string();
    let schema = Schema::parse(&schema).map_err(|error| error.to_string())?;
    let is_valid = match schema.check(&at(case, "/data")?.to_string()) {
        Ok(()) => true,
        Err(InvalidData::Violation(_)) => false,
        Err(error) => return Err(error.to_string()),
    };
    equal("valid", is_valid, truth(case, "/valid")?)
}
