//! The audit of operators: a line for each command, which grows with what the command changes (A8).

use std::{sync::Arc, time::Duration};

use outbox_store::{
    AfterDeath, AuditLine, AuditPage, Command, DeadPage, DeadPayload, OutboxOperator, Outcome,
    PublishedFilter, Purge, PurgeMode, Replay, ReplayMode,
};

use crate::{
    Harness,
    scene::{Scene, all_dead, numbered, ordering_key, secs},
    taken::{dead, retry},
};

async fn lines<H: Harness>(s: &Scene<H>) -> Vec<AuditLine> {
    let page = AuditPage {
        before: None,
        limit: 100,
    };
    s.store().audit(&page).await.expect("the store lists")
}

fn on_behalf<H: Harness>(s: &Scene<H>, who: &str) -> Arc<dyn OutboxOperator> {
    s.store().audited(&Command::new(who, "{\"all\":true}"))
}

/// Action, count and steps of a line.
fn told(line: &AuditLine) -> (&str, u64, u64) {
    (&line.action, line.count, line.steps)
}

/// A8: the steps of one command grow one line, which says who, what and how many.
pub async fn a8_a_command_has_one_line_that_grows_with_its_steps<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 5)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[], &dead(AfterDeath::Skip)).await;
    let before = s.harness.now_ms().await;
    let command = Command::new("ann@host", "{\"topic\":\"orders\"}");
    let operator = s.store().audited(&command);
    for expected in [2, 2, 1] {
        let page = DeadPage {
            limit: 2,
            ..all_dead()
        };
        let stepped = operator.redrive(&page).await.expect("it redrives");
        assert_eq!(stepped.count, expected);
    }
    let lines = lines(&s).await;
    assert_eq!(lines.len(), 1);
    assert_eq!(told(&lines[0]), ("redrive", 5, 3));
    assert_eq!(lines[0].command, command.id.as_str());
    assert_eq!(
        (&*lines[0].who, &*lines[0].filter),
        ("ann@host", "{\"topic\":\"orders\"}")
    );
    let after = s.harness.now_ms().await;
    assert!((before..=after).contains(&lines[0].began_at_ms));
    assert!((lines[0].began_at_ms..=after).contains(&lines[0].ended_at_ms));
}

/// A8: every kind of change leaves its line, each command its own.
pub async fn a8_every_kind_of_change_leaves_a_line<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("a", "a").await;
    s.save("b", "b").await;
    let taken = s.claim_until("a").await;
    let kill = [("a", dead(AfterDeath::Skip))];
    s.settle_all(&taken, &kill, &Outcome::Release).await;
    let taken = s.claim_until("b").await;
    s.settle_all(&taken, &[("b", retry(60))], &Outcome::Release)
        .await;
    let by = |who| on_behalf(&s, who);
    let done = by("1").retry_now(&ordering_key("b")).await;
    assert!(done.expect("it retries"));
    let done = by("2").discard(&all_dead()).await;
    assert_eq!(done.expect("it discards").count, 1);
    let topic = ordering_key("b").topic;
    by("3").pause(&topic, None).await.expect("it pauses");
    assert!(by("4").resume(&topic).await.expect("it resumes"));
    assert!(!by("5").resume(&topic).await.expect("it has no stop"));
    by("6").purge(&purge(PurgeMode::Delete)).await.expect("ok");
    let done = by("7").replay(&replay(ReplayMode::Save)).await;
    assert_eq!(done.expect("nothing is kept").count, 0);
    let lines = lines(&s).await;
    let expected = [
        ("replay", 0, 1),
        ("purge", 0, 1),
        ("resume", 0, 1),
        ("resume", 1, 1),
        ("pause", 1, 1),
        ("discard", 1, 1),
        ("retry_now", 1, 1),
    ];
    assert_eq!(lines.iter().map(told).collect::<Vec<_>>(), expected);
    let who: Vec<_> = lines.iter().map(|line| line.who.as_str()).collect();
    assert_eq!(who, ["7", "6", "5", "4", "3", "2", "1"]);
}

/// A8: what is only shown or counted leaves no line, and neither does a change on nobody's behalf.
pub async fn a8_what_changes_nothing_leaves_no_line<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m").await;
    s.kill("m", AfterDeath::Skip).await;
    let operator = on_behalf(&s, "ann");
    operator.status().await.expect("it tells its state");
    let page = all_dead();
    let shown = operator.dead_letters(&page, DeadPayload::Omit).await;
    assert_eq!(shown.expect("it lists").len(), 1);
    let counted = operator.count_dead(&page.filter).await;
    assert_eq!(counted.expect("it counts").0, 1);
    operator
        .purge(&purge(PurgeMode::Count))
        .await
        .expect("it counts");
    operator
        .replay(&replay(ReplayMode::Count))
        .await
        .expect("it counts");
    assert_eq!(s.redrive().await.count, 1);
    assert_eq!(lines(&s).await, []);
}

/// A8: lines come in pages, the newest first.
pub async fn a8_lines_come_in_pages_the_newest_first<H: Harness>() {
    let s = Scene::<H>::new().await;
    let topic = ordering_key("k").topic;
    for who in numbered("who", 5) {
        let paused = on_behalf(&s, &who).pause(&topic, Some(secs(1))).await;
        paused.expect("it pauses");
    }
    let (mut before, mut seen) = (None, Vec::new());
    for _ in 0..4 {
        let page = AuditPage { before, limit: 2 };
        let lines = s.store().audit(&page).await.expect("the store lists");
        before = lines.last().map(|line| line.number).or(before);
        seen.extend(lines.into_iter().map(|line| line.who));
    }
    let mut expected = numbered("who", 5);
    expected.reverse();
    assert_eq!(seen, expected);
}

fn purge(mode: PurgeMode) -> Purge {
    Purge {
        older_than: Duration::ZERO,
        inbox_older_than: None,
        limit: 100,
        mode,
    }
}

fn replay(mode: ReplayMode) -> Replay {
    Replay {
        filter: PublishedFilter::default(),
        after: None,
        upto: None,
        limit: 100,
        mode,
    }
}
