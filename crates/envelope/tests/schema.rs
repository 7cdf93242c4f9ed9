//! What a schema takes and what it finds, rule by rule. The verdicts are those of the reference, BabelQueue for Python.

use outbox_envelope::schema::{
    InvalidData, InvalidSchema, MAX_SCHEMA_DEPTH, Rule, Schema, Violation,
};

fn check(schema: &str, data: &str) -> Result<(), String> {
    let schema = Schema::parse(schema).expect("the schema is an object");
    schema.check(data).map_err(|found| found.to_string())
}

#[track_caller]
fn takes(schema: &str, data: &[&str]) {
    for data in data {
        assert_eq!(check(schema, data), Ok(()), "{data}");
    }
}

#[track_caller]
fn refuses(schema: &str, data: &[&str], found: &str) {
    for data in data {
        assert_eq!(check(schema, data), Err(found.to_owned()), "{data}");
    }
}

#[test]
fn a_type_is_one_of_the_seven_names_and_one_point_zero_is_an_integer() {
    let of = |name: &str| format!(r#"{{"type":"{name}"}}"#);
    takes(
        &of("integer"),
        &["1", "-0", "1.0", "1e2", "123456789012345678901234567890"],
    );
    refuses(
        &of("integer"),
        &["1.5", "1e400", "true", "\"1\"", "null"],
        "<root>: not_an_integer",
    );
    takes(&of("number"), &["1", "1.5", "1e400", "-0.0"]);
    refuses(
        &of("number"),
        &["false", "\"1\"", "[]"],
        "<root>: not_a_number",
    );
    takes(&of("string"), &["\"\"", r#""\u0041""#]);
    refuses(&of("string"), &["1", "{}"], "<root>: not_a_string");
    takes(&of("boolean"), &["true", "false"]);
    refuses(&of("boolean"), &["0", "null"], "<root>: not_a_boolean");
    takes(&of("null"), &["null"]);
    refuses(&of("null"), &["false"], "<root>: not_null");
    takes(&of("object"), &["{}", " {\"a\":1} "]);
    refuses(&of("object"), &["[]", "null"], "<root>: not_an_object");
    takes(&of("array"), &["[]", "[1,\"a\"]"]);
    refuses(&of("array"), &["{}"], "<root>: not_an_array");
}

#[test]
fn what_is_not_understood_checks_nothing() {
    for schema in [
        "{}",
        r#"{"type":["string","null"]}"#,
        r#"{"type":"date"}"#,
        r#"{"type":7,"pattern":"^a","maxLength":0}"#,
        // Without the type, what belongs to it is not looked at.
        r#"{"required":["a"],"additionalProperties":false,"items":{"type":"null"},"minLength":9,"minimum":9}"#,
        r#"{"type":"object","required":"a","properties":[],"additionalProperties":{"type":"null"}}"#,
        r#"{"type":"object","properties":{"a":true}}"#,
    ] {
        takes(schema, &[r#"{"a":1}"#]);
    }
    takes(r#"{"type":"array","items":[{"type":"null"}]}"#, &["[1]"]);
    takes(r#"{"enum":"ab"}"#, &["1"]);
    takes(r#"{"type":"string","minLength":"3"}"#, &["\"\""]);
    takes(r#"{"type":"number","minimum":true}"#, &["-1"]);
}

#[test]
fn constants_are_compared_by_type_and_without_the_order_of_members() {
    takes(r#"{"const":1}"#, &["1"]);
    refuses(
        r#"{"const":1}"#,
        &["1.0", "true", "\"1\"", "2"],
        "<root>: wrong_const",
    );
    takes(r#"{"const":1.5}"#, &["1.5", "1.50", "15e-1"]);
    takes(r#"{"const":null}"#, &["null"]);
    refuses(r#"{"const":null}"#, &["false"], "<root>: wrong_const");
    takes(
        r#"{"const":{"a":1,"b":["\u00e9"]}}"#,
        &["{\"b\" : [\"é\"],\"a\":1}"],
    );
    refuses(
        r#"{"const":{"a":1}}"#,
        &["{}", r#"{"a":1,"b":2}"#, "[]"],
        "<root>: wrong_const",
    );
    takes(r#"{"enum":["USD",null,7]}"#, &["\"USD\"", "null", "7"]);
    refuses(
        r#"{"enum":["USD",null,7]}"#,
        &["\"usd\"", "7.0", "false"],
        "<root>: not_in_enum",
    );
    refuses(r#"{"enum":[]}"#, &["1"], "<root>: not_in_enum");
    // The constant is asked first, then the list, then the type.
    refuses(
        r#"{"const":1,"enum":[2],"type":"string"}"#,
        &["2"],
        "<root>: wrong_const",
    );
    refuses(
        r#"{"enum":[1],"type":"string"}"#,
        &["2"],
        "<root>: not_in_enum",
    );
    refuses(
        r#"{"enum":[1],"type":"string"}"#,
        &["1"],
        "<root>: not_a_string",
    );
}

#[test]
fn the_first_member_that_breaks_a_rule_is_named_by_its_path() {
    let schema = r#"{
        "type": "object",
        "required": ["id", "lines"],
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "lines": {"type": "array", "items": {
                "type": "object",
                "required": ["sku"],
                "properties": {"sku": {"type": "string", "minLength": 2}},
                "additionalProperties": false
            }}
        },
        "additionalProperties": false
    }"#;
    takes(
        schema,
        &[
            r#"{"id":1,"lines":[]}"#,
            r#"{"lines":[{"sku":"ab"}],"id":2.0}"#,
        ],
    );
    for (data, found) in [
        (r#"{"lines":[],"id":0}"#, "id: below_minimum"),
        (r#"{"x":1}"#, "id: missing_required"),
        (r#"{"id":1}"#, "lines: missing_required"),
        (r#"{"id":1,"x":1,"lines":[7]}"#, "x: additional_not_allowed"),
        (r#"{"id":1,"lines":[7],"x":1}"#, "lines[0]: not_an_object"),
        (
            r#"{"id":1,"lines":[{"sku":"ab"},{}]}"#,
            "lines[1].sku: missing_required",
        ),
        (
            r#"{"id":1,"lines":[{"sku":"a"}]}"#,
            "lines[0].sku: below_min_length",
        ),
        (
            r#"{"id":1,"lines":[{"sku":"ab","n":1}]}"#,
            "lines[0].n: additional_not_allowed",
        ),
        // Of a repeated member the last counts.
        (r#"{"id":"x","id":1,"lines":null}"#, "lines: not_an_array"),
    ] {
        refuses(schema, &[data], found);
    }
    let found = Schema::parse(schema).unwrap().check("{}").unwrap_err();
    let InvalidData::Violation(Violation { path, rule, .. }) = found else {
        panic!("{found:?}");
    };
    assert_eq!((path.as_str(), rule), ("id", Rule::Required));
}

#[test]
fn lengths_are_code_points_and_limits_are_doubles() {
    let three = r#"{"type":"string","minLength":3}"#;
    takes(three, &["\"abc\"", "\"ğüş\"", r#""\ud83d\ude00ab""#]);
    refuses(
        three,
        &["\"ğü\"", "\"😀a\"", r#""\ud83d\ude00""#],
        "<root>: below_min_length",
    );
    takes(r#"{"type":"string","minLength":2.9}"#, &["\"ab\""]);
    takes(r#"{"type":"string","minLength":-1}"#, &["\"\""]);
    refuses(
        r#"{"type":"string","minLength":1e400}"#,
        &["\"a\""],
        "<root>: below_min_length",
    );
    takes(r#"{"type":"number","minimum":0.5}"#, &["0.5", "1", "1e400"]);
    refuses(
        r#"{"type":"number","minimum":0.5}"#,
        &["0.4", "-1e400"],
        "<root>: below_minimum",
    );
    refuses(
        r#"{"type":"integer","minimum":1}"#,
        &["0", "-99999999999999999999"],
        "<root>: below_minimum",
    );
}

#[test]
fn a_schema_must_be_an_object_and_not_too_deep() {
    for text in [
        "",
        "[]",
        "null",
        "{",
        "{}x",
        "{\"const\":01}",
        "{\"items\":{\"a\":}}",
    ] {
        assert!(
            matches!(Schema::parse(text), Err(InvalidSchema::Malformed(_))),
            "{text}"
        );
    }
    let deep = |levels: usize| "{\"items\":".repeat(levels) + "{}" + &"}".repeat(levels);
    assert!(Schema::parse(&deep(MAX_SCHEMA_DEPTH)).is_ok());
    assert!(matches!(
        Schema::parse(&deep(MAX_SCHEMA_DEPTH + 1)),
        Err(InvalidSchema::TooDeep { .. })
    ));
}

#[test]
fn data_that_is_not_json_is_no_violation() {
    let schema = Schema::parse("{}").unwrap();
    let deep = "[".repeat(100_000);
    for data in ["", "{", "NaN", "{}{}", deep.as_str()] {
        assert!(matches!(schema.check(data), Err(InvalidData::Malformed(_))));
    }
}

#[test]
fn marks_are_listed_with_their_categories() {
    let schema = r#"{"x-gdpr-sensitive":"","properties":{
        "email":{"type":"string","x-gdpr-sensitive":"contact"},
        "profile":{"properties":{"full_name":{"x-gdpr-sensitive":true}}},
        "addresses":{"items":{"properties":{"line":{"x-gdpr-sensitive":true},"zip":{"x-gdpr-sensitive":false}}}},
        "tags":{"x-gdpr-sensitive":7,"items":{"x-gdpr-sensitive":"pii"}}
    }}"#;
    let paths = Schema::parse(schema).unwrap().sensitive_paths();
    let paths: Vec<_> = paths
        .iter()
        .map(|mark| (&*mark.path, &*mark.category))
        .collect();
    assert_eq!(
        paths,
        [
            ("addresses[].line", ""),
            ("email", "contact"),
            ("profile.full_name", ""),
            ("tags[]", "pii")
        ]
    );
}
