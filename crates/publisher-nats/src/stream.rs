//! Requests about streams: whether there is one, making one, a subject's last message. They are those that servers from
//! 2.3 on understand, written here so that nothing of later servers is in them.

use async_nats::Message;
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    ack::ApiError,
    connection::{AskError, Asker},
    fence::{Last, Mark},
};

/// Why a request about a stream gave no answer.
#[derive(Debug)]
pub(crate) enum StreamError {
    Ask(AskError),
    Api(ApiError),
    /// The answer is not what the server of a stream would say.
    Foreign,
}

/// What a stream is made of, as far as it concerns a publisher.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Stream {
    #[serde(default)]
    subjects: Vec<String>,
    #[serde(default)]
    retention: String,
    /// It confirms nothing.
    #[serde(default)]
    pub(crate) no_ack: bool,
}

impl Stream {
    /// Whether messages of this subject go there.
    pub(crate) fn takes(&self, subject: &str) -> bool {
        self.subjects.iter().any(|pattern| covers(pattern, subject))
    }

    /// Whether messages stay when consumers have taken them.
    pub(crate) fn keeps_messages(&self) -> bool {
        self.retention.is_empty() || self.retention == "limits"
    }
}

/// The stream of this name, if there is one.
pub(crate) async fn find(asker: &mut Asker<'_>, name: &str) -> Result<Option<Stream>, StreamError> {
    #[derive(Deserialize)]
    struct Info {
        config: Stream,
    }
    let subject = format!("$JS.API.STREAM.INFO.{name}");
    match request::<Info>(asker, &subject, Bytes::new()).await {
        Ok(info) => Ok(Some(info.config)),
        Err(StreamError::Api(error)) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names of the streams that take messages of this subject; there is at most one.
pub(crate) async fn with_subject(
    asker: &mut Asker<'_>,
    subject: &str,
) -> Result<Vec<String>, StreamError> {
    #[derive(Serialize)]
    struct Filter<'a> {
        subject: &'a str,
    }
    #[derive(Deserialize)]
    struct Names {
        #[serde(default)]
        streams: Option<Vec<String>>,
    }
    let names: Names = request(asker, "$JS.API.STREAM.NAMES", json(&Filter { subject })).await?;
    Ok(names.streams.unwrap_or_default())
}

/// Makes a stream in files, without limits, of one replica. One that is there and is the same is left as it is.
pub(crate) async fn create(
    asker: &mut Asker<'_>,
    name: &str,
    subject: &str,
) -> Result<(), StreamError> {
    #[derive(Serialize)]
    struct Config<'a> {
        name: &'a str,
        subjects: [&'a str; 1],
        retention: &'a str,
        storage: &'a str,
        discard: &'a str,
        num_replicas: u8,
    }
    #[derive(Deserialize)]
    struct Created {
        #[serde(rename = "config")]
        _config: Stream,
    }
    let config = json(&Config {
        name,
        subjects: [subject],
        retention: "limits",
        storage: "file",
        discard: "old",
        num_replicas: 1,
    });
    request::<Created>(asker, &format!("$JS.API.STREAM.CREATE.{name}"), config)
        .await
        .map(drop)
}

/// The last message of a subject, if it has one.
pub(crate) async fn last(
    asker: &mut Asker<'_>,
    stream: &str,
    subject: &str,
) -> Result<Option<Last>, StreamError> {
    /// No message found; a stream that is not found has another number.
    const NO_MESSAGE: u32 = 10_037;
    #[derive(Serialize)]
    struct LastOf<'a> {
        last_by_subj: &'a str,
    }
    #[derive(Deserialize)]
    struct Got {
        message: Stored,
    }
    #[derive(Deserialize)]
    struct Stored {
        seq: u64,
        #[serde(default)]
        hdrs: String,
    }
    let ask = json(&LastOf {
        last_by_subj: subject,
    });
    let got: Result<Got, _> =
        request(asker, &format!("$JS.API.STREAM.MSG.GET.{stream}"), ask).await;
    match got {
        Ok(Got { message }) => {
            let block = BASE64_STANDARD.decode(&message.hdrs);
            let block = block.map_err(|_| StreamError::Foreign)?;
            Ok(Some(Last {
                sequence: message.seq,
                mark: Mark::find(&String::from_utf8_lossy(&block)),
            }))
        }
        Err(StreamError::Api(error)) if error.number == NO_MESSAGE => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sends a request to JetStream and reads its answer.
pub(crate) async fn request<T: DeserializeOwned>(
    asker: &mut Asker<'_>,
    subject: &str,
    payload: Bytes,
) -> Result<T, StreamError> {
    #[derive(Deserialize)]
    struct Failed {
        error: ApiError,
    }
    let answer = asker.ask(subject, None, payload).await;
    let Message { payload, .. } = answer.map_err(StreamError::Ask)?;
    if let Ok(Failed { error }) = serde_json::from_slice(&payload) {
        return Err(StreamError::Api(error));
    }
    serde_json::from_slice(&payload).map_err(|_| StreamError::Foreign)
}

/// The payload of a request.
pub(crate) fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value)
        .expect("texts and numbers can be written as JSON")
        .into()
}

/// Whether a subject with wildcards covers this one.
fn covers(pattern: &str, subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for expected in pattern.split('.') {
        let Some(token) = tokens.next() else {
            return false;
        };
        match expected {
            ">" => return true,
            "*" => {}
            expected if expected == token => {}
            _ => return false,
        }
    }
    tokens.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_with_wildcards_covers_as_the_server_says() {
        for (pattern, subject) in [
            ("a", "a"),
            ("a.*", "a.b"),
            ("a.>", "a.b.c"),
            (">", "a"),
            ("*.b", "a.b"),
        ] {
            assert!(covers(pattern, subject), "{pattern} {subject}");
        }
        for (pattern, subject) in [
            ("a", "b"),
            ("a.*", "a"),
            ("a.*", "a.b.c"),
            ("a.>", "a"),
            ("a", "a.b"),
            ("a.b", "a"),
        ] {
            assert!(!covers(pattern, subject), "{pattern} {subject}");
        }
    }
}
