//! Replay: published messages that are kept are saved again.

use outbox_message::Message;
use outbox_store::{
    PublishedFilter, PublishedPlace, Replay, ReplayMode, Replayed,
    adapter::{MOST_LOOKED_AT, looked_at, replay_headers},
};

use crate::state::State;

impl State {
    pub(crate) fn replay(&mut self, replay: &Replay) -> Replayed {
        let now = self.clock.now_ms();
        let upto = replay.upto.unwrap_or(PublishedPlace {
            at: now,
            number: self.last_position().0,
        });
        let (mut chosen, mut left_out, mut last) = (Vec::new(), 0, None);
        let (after, end) = looked_at(replay, upto, 1);
        for (place, message) in self.published.between(after, end).take(MOST_LOOKED_AT) {
            if chosen.len() >= replay.limit {
                break;
            }
            last = Some(place);
            if matches(&replay.filter, message) {
                match replay_headers(message.headers.clone()) {
                    None => left_out += 1,
                    Some(headers) => chosen.push(Message {
                        headers,
                        ..message.clone()
                    }),
                }
            }
        }
        let count = chosen.len();
        if replay.mode == ReplayMode::Save {
            for message in chosen {
                self.save(message, now);
            }
        }
        Replayed {
            count,
            left_out,
            last,
            upto,
        }
    }
}

fn matches(filter: &PublishedFilter, message: &Message) -> bool {
    let PublishedFilter {
        id,
        topic,
        key,
        since_ms: _,
        before_ms: _,
    } = filter;
    let of_key = message.key.as_ref().map(AsRef::as_ref);
    id.as_ref().is_none_or(|id| *id == message.id)
        && topic
            .as_deref()
            .is_none_or(|it| it == message.topic.as_str())
        && key.as_deref().is_none_or(|key| of_key == Some(key))
}
