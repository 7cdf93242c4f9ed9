//! Dead letters in a list or a stream, read where they are and removed one by one. What an element or an entry says is in
//! `element.rs` and `fields.rs`.

mod element;
mod fields;

use async_trait::async_trait;
use outbox_message::Topic;
use outbox_publisher::{
    DeadQueue, DeadQueues, Letter, PublishError, PublishErrorKind, Publisher, TemplateField,
};
use redis::{Cmd, Value};

use crate::{Frame, Layout, RedisPublisher, call, failure};

/// Removes a job together with a notification, which Laravel's workers wait for.
const REMOVE: &str = include_str!("lua/remove.lua");

#[async_trait]
impl DeadQueues for RedisPublisher {
    /// The list or the stream of a topic, as the URL names it. If it is not there, it is empty.
    async fn dead_queue(&self, topic: &Topic) -> Result<Box<dyn DeadQueue>, PublishError> {
        let template = self.config.layout.template();
        let parameter = self.config.layout.parameter();
        let of_many = [TemplateField::Key, TemplateField::Id];
        if let Some(field) = of_many.into_iter().find(|field| template.uses(*field)) {
            let field = field.placeholder();
            let text = format!(
                "{parameter}= in the URL has {field} in it, and a dead-letter queue is one for all messages; correct it"
            );
            return Err(unavailable(text));
        }
        if !template.uses(TemplateField::Topic) {
            let text = format!(
                "{parameter}= in the URL is one for all topics, so that dead letters would return to the very one that they are read from; \
                 write {{topic}} in it, such as {parameter}={{topic}}, and name the dead letters by the topic"
            );
            return Err(unavailable(text));
        }
        let key = self.config.layout.title(topic);
        self.ask(&key, Some(&key)).await?;
        Ok(match &self.config.layout {
            Layout::List { .. } => Box::new(self.list(key, false).await?),
            Layout::Laravel { .. } => Box::new(self.list(key, true).await?),
            Layout::Stream { .. } => Box::new(self.stream(key).await?),
        })
    }

    fn redriver(&self) -> Box<dyn Publisher> {
        Box::new(self.clone())
    }

    /// Lists without frames have none.
    fn keeps_headers(&self) -> bool {
        match &self.config.layout {
            Layout::List { frame, .. } => *frame != Frame::Never,
            Layout::Laravel { .. } => false,
            Layout::Stream { .. } => true,
        }
    }
}

impl RedisPublisher {
    async fn list(&self, key: String, has_notifications: bool) -> Result<List, PublishError> {
        let unread = match self.say(&key, &cmd("LLEN", &key)).await? {
            Value::Int(length) => u64::try_from(length).unwrap_or(0),
            _ => return Err(self.misunderstood()),
        };
        Ok(List {
            redis: self.clone(),
            key,
            has_notifications,
            place: 0,
            unread,
            current: None,
        })
    }

    async fn stream(&self, key: String) -> Result<Stream, PublishError> {
        let mut last = cmd("XREVRANGE", &key);
        last.arg("+").arg("-").arg("COUNT").arg(1);
        let last = self.say(&key, &last).await?;
        let last = fields::entry(last).ok_or_else(|| self.misunderstood())?;
        Ok(Stream {
            redis: self.clone(),
            key,
            after: None,
            last: last.map(|(id, _)| id),
        })
    }

    /// Says something about a key. An answer that is an error is one.
    async fn say(&self, key: &str, command: &Cmd) -> Result<Value, PublishError> {
        let live = self.live().await?;
        match live.ask(command).await {
            Ok(Value::ServerError(error)) => {
                let refusal = error.into();
                if failure::wants_another_connection(&refusal) {
                    live.give_up();
                }
                Err(self.place(key).refused(&refusal))
            }
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.lost(error)),
        }
    }

    fn misunderstood(&self) -> PublishError {
        self.lost(call::unexpected())
    }
}

fn unavailable(text: String) -> PublishError {
    PublishError::new(PublishErrorKind::Unavailable, text)
}

fn cmd(name: &str, key: &str) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(key);
    command
}

/// A list, read from its head. Elements that are equal are the same to it.
#[derive(Debug)]
struct List {
    redis: RedisPublisher,
    key: String,
    /// It is a queue of Laravel, which has a list of notifications beside it.
    has_notifications: bool,
    /// How many elements were left, which is where the next one is.
    place: u64,
    /// How many elements are not read yet.
    unread: u64,
    /// What was read last.
    current: Option<Vec<u8>>,
}

#[async_trait]
impl DeadQueue for List {
    async fn next(&mut self) -> Result<Option<Letter>, PublishError> {
        // What was read and not removed is left.
        self.place += u64::from(self.current.take().is_some());
        if self.unread == 0 {
            return Ok(None);
        }
        let mut command = cmd("LINDEX", &self.key);
        command.arg(self.place);
        match self.redis.say(&self.key, &command).await? {
            Value::BulkString(element) => {
                let letter = element::letter(&element);
                self.unread -= 1;
                self.current = Some(element);
                Ok(Some(letter))
            }
            // Others have taken what was there.
            Value::Nil => Ok(None),
            _ => Err(self.redis.misunderstood()),
        }
    }

    async fn remove(&mut self) -> Result<bool, PublishError> {
        let Some(element) = &self.current else {
            return Ok(false);
        };
        let command = if self.has_notifications {
            let mut command = redis::cmd("EVAL");
            let notifications = format!("{}:notify", self.key);
            command.arg(REMOVE).arg(2);
            command.arg(&self.key).arg(notifications).arg(element);
            command
        } else {
            let mut command = cmd("LREM", &self.key);
            command.arg(1).arg(element);
            command
        };
        let removed = match self.redis.say(&self.key, &command).await? {
            Value::Int(removed) => removed > 0,
            _ => return Err(self.redis.misunderstood()),
        };
        // Removed by us or by others, it is no more in front of the next.
        self.current = None;
        Ok(removed)
    }
}

/// A stream, read from its first entry to the one that was its last.
#[derive(Debug)]
struct Stream {
    redis: RedisPublisher,
    key: String,
    /// The id of the entry that was read last.
    after: Option<String>,
    /// The id of the last entry to be read; none if there was none.
    last: Option<String>,
}

#[async_trait]
impl DeadQueue for Stream {
    async fn next(&mut self) -> Result<Option<Letter>, PublishError> {
        let Some(last) = &self.last else {
            return Ok(None);
        };
        let mut command = cmd("XRANGE", &self.key);
        match &self.after {
            Some(id) => command.arg(format!("({id}")),
            None => command.arg("-"),
        };
        command.arg(last).arg("COUNT").arg(1);
        let answer = self.redis.say(&self.key, &command).await?;
        let entry = fields::entry(answer).ok_or_else(|| self.redis.misunderstood())?;
        let Some((id, fields)) = entry else {
            self.last = None;
            return Ok(None);
        };
        self.after = Some(id);
        Ok(Some(fields::letter(fields)))
    }

    async fn remove(&mut self) -> Result<bool, PublishError> {
        let Some(id) = &self.after else {
            return Ok(false);
        };
        let mut command = cmd("XDEL", &self.key);
        command.arg(id);
        match self.redis.say(&self.key, &command).await? {
            Value::Int(removed) => Ok(removed > 0),
            _ => Err(self.redis.misunderstood()),
        }
    }
}
