//! Steps 5 and 6: what is due of the keys that wait, those that wait for their topics instead, and blocks behind which nothing waits any more.

use outbox_ordering::share::{Candidate, Source};

use crate::{
    failure::Failure, procedure::query, session::Session, statements::Statements, value::Value,
};

use super::{KeyText, LaneWork, Work, lanes::count, load::key_text, read_on::LeftOut};

/// A message that was set aside and can run.
pub(super) struct Waiting {
    pub(super) candidate: Candidate,
    pub(super) key: KeyText,
}

impl Work<'_> {
    /// Step 5: reads what is due, never behind what was seen of the line.
    pub(super) async fn read_waiting<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let due: Vec<&LaneWork> = self
            .lanes
            .iter()
            .filter(|lane| lane.has_due_keys())
            .collect();
        if due.is_empty() {
            return Ok(());
        }
        let share = self.share().messages;
        let run = (self.request.limit / 4).clamp(1, share);
        let lanes: Vec<i64> = due.iter().map(|lane| i64::from(lane.seen.lane)).collect();
        let frontiers: Vec<i64> = due.iter().map(|lane| lane.line.frontier()).collect();
        let idle: Vec<bool> = due
            .iter()
            .map(|lane| lane.line.runnable.is_empty() && !lane.line.is_cut())
            .collect();
        let left_out = LeftOut::of(self.request, &self.lanes);
        let values = [
            Value::Ints(&lanes),
            Value::Ints(&frontiers),
            Value::Flags(&idle),
            Value::Int(count(share)),
            Value::Int(count(run)),
            Value::Ints(&left_out.positions),
            Value::Texts(&left_out.topics),
            Value::Texts(&left_out.keys),
        ];
        for mut row in query(session, &statements.read_waiting, &values).await? {
            let lane = row.lane()?;
            let topic = row.maybe_bytes()?;
            let Some(key) = key_text(topic.as_ref(), row.maybe_bytes()?.as_ref()) else {
                continue;
            };
            let is_stopped = row.flag()?;
            let Some(position) = row.maybe_int()? else {
                self.empty.push(key);
                continue;
            };
            if is_stopped {
                self.stopped_keys.push(key);
                continue;
            }
            let candidate = Candidate {
                position,
                weight: row.count()?,
                source: Source::Waiting,
            };
            if let Some(work) = self.lane_mut(lane) {
                work.waiting.push(Waiting { candidate, key });
            }
        }
        self.delete_empty_blocks(session, statements).await?;
        self.stop_keys(session, statements).await
    }

    /// Lets due keys wait for the end of the stops of their topics.
    async fn stop_keys<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        if self.stopped_keys.is_empty() {
            return Ok(());
        }
        let (topics, keys) = columns(&self.stopped_keys);
        let values = [Value::Texts(&topics), Value::Texts(&keys)];
        query(session, &statements.stop_keys, &values).await?;
        self.moved += self.stopped_keys.len();
        Ok(())
    }

    /// Step 6: deletes blocks behind which nothing waits.
    async fn delete_empty_blocks<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        if self.empty.is_empty() {
            return Ok(());
        }
        let (topics, keys) = columns(&self.empty);
        let values = [Value::Texts(&topics), Value::Texts(&keys)];
        let deleted = query(session, &statements.delete_empty_blocks, &values).await?;
        self.moved += deleted.len();
        Ok(())
    }
}

/// Keys as a statement takes them.
fn columns(keys: &[KeyText]) -> (Vec<Option<&str>>, Vec<Option<&str>>) {
    keys.iter()
        .map(|key| (Some(key.0.as_str()), Some(key.1.as_str())))
        .unzip()
}
