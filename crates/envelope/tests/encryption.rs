//! Sensitive leaves, encrypted and decrypted. `vectors/gdpr.json` was generated as those of `reference.rs`, with a cipher that
//! hides nothing.

use std::{cell::RefCell, error::Error};

use base64::{Engine, engine::general_purpose::STANDARD};
use outbox_envelope::{
    Envelope,
    encryption::{AesGcm, Cipher, CipherError, EncryptionError, Key, protect, unprotect},
    schema::Schema,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The cipher of the vectors: `enc:` and base64. It remembers what it was asked to encrypt.
#[derive(Default)]
struct Transparent(RefCell<Vec<String>>);

impl Cipher for Transparent {
    fn encrypt(&self, plaintext: &[u8]) -> Result<String, CipherError> {
        self.0
            .borrow_mut()
            .push(String::from_utf8(plaintext.to_vec())?);
        Ok(format!("enc:{}", STANDARD.encode(plaintext)))
    }

    fn decrypt(&self, ciphertext: &str) -> Result<Vec<u8>, CipherError> {
        let encoded = ciphertext
            .strip_prefix("enc:")
            .ok_or("it was never encrypted")?;
        Ok(STANDARD.decode(encoded)?)
    }
}

#[derive(Deserialize)]
struct Case {
    schema: Box<RawValue>,
    data: Box<RawValue>,
    plaintexts_in_order: Vec<String>,
    protected: Box<RawValue>,
    restored_equal: bool,
}

/// Without the white space between tokens, and with the literals of the encoder.
fn compact(json: &RawValue) -> String {
    let frame = std::collections::BTreeMap::from([("data", json)]);
    let envelope = Envelope::from_frame(&frame).expect("the frame is an object");
    envelope.data()
}

#[test]
fn every_leaf_is_encrypted_from_the_plaintext_of_the_reference_and_comes_back() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("vectors/gdpr.json"))
        .expect("the vectors have the shape of the struct");
    assert_eq!(cases.len(), 1, "no entry may get lost");
    for case in cases {
        let schema = Schema::parse(case.schema.get()).unwrap();
        let cipher = Transparent::default();
        let data = compact(&case.data);
        let protected = protect(&data, &schema, &cipher).unwrap();
        assert_eq!(protected, compact(&case.protected));
        let mut plaintexts = cipher.0.take();
        let mut expected = case.plaintexts_in_order;
        // The reference goes by sorted paths, this crate by the members as they stand.
        plaintexts.sort();
        expected.sort();
        assert_eq!(plaintexts, expected);
        assert!(case.restored_equal);
        // But for the order of the names in the object that is a leaf.
        let restored = unprotect(&protected, &schema, &cipher).unwrap();
        assert_eq!(
            restored,
            data.replace(
                r#"{"b":1.0,"a":[true,null]}"#,
                r#"{"a":[true,null],"b":1.0}"#
            )
        );
    }
}

fn schema(properties: &str) -> Schema {
    let text = format!("{{\"properties\":{{{properties}}}}}");
    Schema::parse(&text).expect("the schema is an object")
}

#[test]
fn every_byte_that_is_not_sensitive_stays() {
    let schema = schema(r#""a":{"x-gdpr-sensitive":true}"#);
    let data = "{ \"n\" : 1e400,\n \"a\" : \"\\u00e9\" , \"b\":{\"a\":\"open\"}, \"a\":null }";
    let protected = protect(data, &schema, &Transparent::default()).unwrap();
    let expected = data
        .replace("\"\\u00e9\" ", "\"enc:Ilx1MDBlOSI=\" ")
        .replace("null", "\"enc:bnVsbA==\"");
    assert_eq!(protected, expected, "each of a repeated name, too");
    let restored = unprotect(&protected, &schema, &Transparent::default()).unwrap();
    assert_eq!(restored, data.replace("\\u00e9", "é"));
}

#[test]
fn what_a_message_does_not_have_or_has_otherwise_is_passed_over() {
    let schema = schema(
        r#""a":{"x-gdpr-sensitive":true},"o":{"properties":{"p":{"x-gdpr-sensitive":true}}},
        "l":{"items":{"properties":{"p":{"x-gdpr-sensitive":true}}}}"#,
    );
    for data in [
        "{}",
        r#"{"o":7,"l":{"p":1}}"#,
        r#"{"o":[{"p":1}],"l":[7,[],null]}"#,
        "null",
    ] {
        let cipher = Transparent::default();
        assert_eq!(protect(data, &schema, &cipher).unwrap(), data);
        assert_eq!(unprotect(data, &schema, &cipher).unwrap(), data);
    }
    // What is no string was never encrypted.
    let data = r#"{"a":7,"o":{"p":null},"l":[{"p":{}}]}"#;
    assert_eq!(
        unprotect(data, &schema, &Transparent::default()).unwrap(),
        data
    );
}

#[test]
fn marks_on_items_of_items_names_with_points_and_marks_in_marks_are_heeded() {
    let schema = schema(
        r#""grid":{"items":{"items":{"x-gdpr-sensitive":true}}},"a.b":{"x-gdpr-sensitive":true},
        "whole":{"x-gdpr-sensitive":true,"properties":{"in":{"x-gdpr-sensitive":true}}}"#,
    );
    let data = r#"{"grid":[[1],[]],"a.b":2,"a":{"b":3},"whole":{"in":"x"}}"#;
    let cipher = Transparent::default();
    let protected = protect(data, &schema, &cipher).unwrap();
    assert_eq!(
        protected,
        r#"{"grid":[["enc:MQ=="],[]],"a.b":"enc:Mg==","a":{"b":3},"whole":"enc:eyJpbiI6IngifQ=="}"#
    );
    assert_eq!(unprotect(&protected, &schema, &cipher).unwrap(), data);
}

#[test]
fn a_mark_on_the_whole_data_is_an_error_for_a_producer() {
    let schema = Schema::parse(r#"{"x-gdpr-sensitive":true}"#).unwrap();
    let refused = protect("{}", &schema, &Transparent::default());
    assert!(
        matches!(refused, Err(EncryptionError::WholeData)),
        "{refused:?}"
    );
    assert_eq!(
        unprotect("{}", &schema, &Transparent::default()).unwrap(),
        "{}"
    );
}

#[test]
fn a_leaf_that_cannot_be_read_fails_the_message_and_is_named_by_its_path_alone() {
    let schema = schema(r#""l":{"items":{"properties":{"p":{"x-gdpr-sensitive":true}}}}"#);
    let refused = unprotect(
        r#"{"l":[{"p":"secret"}]}"#,
        &schema,
        &Transparent::default(),
    )
    .unwrap_err();
    assert_eq!(refused.to_string(), "l[].p cannot be decrypted");
    assert_eq!(
        refused.source().unwrap().to_string(),
        "it was never encrypted"
    );

    let no_json = format!(r#"{{"l":[{{"p":"enc:{}"}}]}}"#, STANDARD.encode("secret"));
    let refused = unprotect(&no_json, &schema, &Transparent::default()).unwrap_err();
    assert!(matches!(&refused, EncryptionError::Plaintext { path, .. } if path == "l[].p"));
    assert!(!format!("{refused:?}").contains("secret"));

    let refused = protect("{\"l\":[", &schema, &Transparent::default()).unwrap_err();
    assert!(matches!(refused, EncryptionError::Malformed(_)));
}

/// Test case 14 of the GCM specification's appendix: a key of zeros, a nonce of zeros, sixteen bytes of zeros.
#[test]
fn the_cipher_is_aes_256_in_galois_counter_mode() {
    let cipher = AesGcm::new(&Key::from([0; 32]));
    let sealed = cipher.seal([0; 12], &[0; 16]).unwrap();
    let nonce = [0; 12];
    let text = 0xcea7_403d_4d60_6b6e_074e_c5d3_baf3_9d18_u128.to_be_bytes();
    let tag = 0xd0d1_c8a7_9999_6bf0_265b_98b5_d48a_b919_u128.to_be_bytes();
    assert_eq!(
        STANDARD.decode(&sealed).unwrap(),
        [&nonce[..], &text, &tag].concat()
    );
    assert_eq!(cipher.decrypt(&sealed).unwrap(), [0; 16]);
}

#[test]
fn the_cipher_draws_another_nonce_each_time_and_refuses_what_is_not_its_own() {
    let cipher = AesGcm::new(&Key::from([7; 32]));
    let (one, other) = (
        cipher.encrypt(b"\"a\"").unwrap(),
        cipher.encrypt(b"\"a\"").unwrap(),
    );
    assert_ne!(one, other);
    assert_eq!(cipher.decrypt(&one).unwrap(), b"\"a\"");
    assert!(AesGcm::new(&Key::from([8; 32])).decrypt(&one).is_err());

    let mut changed = STANDARD.decode(&one).unwrap();
    for place in 0..changed.len() {
        changed[place] ^= 1;
        assert!(
            cipher.decrypt(&STANDARD.encode(&changed)).is_err(),
            "byte {place}"
        );
        changed[place] ^= 1;
    }
    for other in [
        "",
        "ada@example.com",
        "AAAA",
        &STANDARD.encode([0; 12]),
        &one[..24],
    ] {
        let refused = cipher.decrypt(other).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "it was not encrypted with this key, or it was changed"
        );
    }
}

#[test]
fn an_envelope_is_protected_on_its_way_and_shows_no_key() {
    let schema = schema(r#""email":{"x-gdpr-sensitive":"contact"}"#);
    let cipher = AesGcm::new(&Key::from([7; 32]));
    let data = std::collections::BTreeMap::from([("email", "ada@example.com")]);
    let envelope = Envelope::make("urn:babel:users:joined", &data).unwrap();

    let sent = envelope.clone().protect(&schema, &cipher).unwrap();
    assert!(sent.accepts());
    assert!(!sent.encode().unwrap().contains("ada"));
    let received = Envelope::decode(sent.encode().unwrap()).unwrap();
    assert_eq!(received.unprotect(&schema, &cipher).unwrap(), envelope);

    assert_eq!(format!("{cipher:?} {:?}", Key::from([7; 32])), "AesGcm Key");
}
