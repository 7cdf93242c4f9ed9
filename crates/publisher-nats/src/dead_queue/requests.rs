//! Requests about the messages of a stream: the last and the next of a subject, and deleting one.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};

use crate::{
    connection::Asker,
    stream::{StreamError, json, request},
};

/// No message found.
const NO_MESSAGE: u32 = 10_037;
/// No message has this number, or none any more.
const NO_SEQUENCE: u32 = 10_043;
/// Deleting failed, and the text says why.
const NOT_DELETED: u32 = 10_057;

/// A message of a stream.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) sequence: u64,
    /// The block of headers as it goes over the wire, or nothing.
    pub(super) headers: Vec<u8>,
    pub(super) payload: Vec<u8>,
}

#[derive(Deserialize)]
struct Got {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    seq: u64,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
}

/// The number of the last message of a subject; 0 if there is none.
pub(super) async fn last(
    asker: &mut Asker<'_>,
    stream: &str,
    subject: &str,
) -> Result<u64, StreamError> {
    #[derive(Serialize)]
    struct LastOf<'a> {
        last_by_subj: &'a str,
    }
    let ask = LastOf {
        last_by_subj: subject,
    };
    let got = get(asker, stream, &ask).await?;
    Ok(got.map_or(0, |message| message.seq))
}

/// The first message of a subject from this number on.
pub(super) async fn next(
    asker: &mut Asker<'_>,
    stream: &str,
    subject: &str,
    sequence: u64,
) -> Result<Option<Stored>, StreamError> {
    #[derive(Serialize)]
    struct NextOf<'a> {
        seq: u64,
        next_by_subj: &'a str,
    }
    let ask = NextOf {
        seq: sequence,
        next_by_subj: subject,
    };
    let Some(message) = get(asker, stream, &ask).await? else {
        return Ok(None);
    };
    let bytes = |text: &str| {
        BASE64_STANDARD
            .decode(text)
            .map_err(|_| StreamError::Foreign)
    };
    Ok(Some(Stored {
        sequence: message.seq,
        headers: bytes(&message.hdrs)?,
        payload: bytes(&message.data)?,
    }))
}

async fn get(
    asker: &mut Asker<'_>,
    stream: &str,
    ask: &impl Serialize,
) -> Result<Option<Message>, StreamError> {
    let subject = format!("$JS.API.STREAM.MSG.GET.{stream}");
    match request::<Got>(asker, &subject, json(ask)).await {
        Ok(Got { message }) => Ok(Some(message)),
        Err(StreamError::Api(error)) if error.number == NO_MESSAGE => Ok(None),
        Err(error) => Err(error),
    }
}

/// Deletes a message. False if it is not there.
pub(super) async fn delete(
    asker: &mut Asker<'_>,
    stream: &str,
    sequence: u64,
) -> Result<bool, StreamError> {
    #[derive(Serialize)]
    struct Delete {
        seq: u64,
        no_erase: bool,
    }
    #[derive(Deserialize)]
    struct Deleted {
        success: bool,
    }
    let ask = json(&Delete {
        seq: sequence,
        no_erase: true,
    });
    let subject = format!("$JS.API.STREAM.MSG.DELETE.{stream}");
    match request::<Deleted>(asker, &subject, ask).await {
        Ok(Deleted { success }) => Ok(success),
        Err(StreamError::Api(error))
            if [NO_MESSAGE, NO_SEQUENCE].contains(&error.number)
                || error.number == NOT_DELETED && error.description.contains("no message") =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
