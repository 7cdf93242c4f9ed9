-- Partitions of three days, and nobody who looks after the statistics but the test.
CREATE TABLE outbox.published_20200101 (LIKE outbox.published INCLUDING ALL);
CREATE TABLE outbox.published_20200102 (LIKE outbox.published INCLUDING ALL);
CREATE TABLE outbox.published_20200103 (LIKE outbox.published INCLUDING ALL);
ALTER TABLE outbox.published ATTACH PARTITION outbox.published_20200101 FOR VALUES FROM ('2020-01-01 00:00:00+00') TO ('2020-01-02 00:00:00+00');
ALTER TABLE outbox.published ATTACH PARTITION outbox.published_20200102 FOR VALUES FROM ('2020-01-02 00:00:00+00') TO ('2020-01-03 00:00:00+00');
ALTER TABLE outbox.published ATTACH PARTITION outbox.published_20200103 FOR VALUES FROM ('2020-01-03 00:00:00+00') TO ('2020-01-04 00:00:00+00');
ALTER TABLE outbox.message SET (autovacuum_enabled = off);
ALTER TABLE outbox.waiting SET (autovacuum_enabled = off);
ALTER TABLE outbox.scheduled SET (autovacuum_enabled = off);
ALTER TABLE outbox.blocked_key SET (autovacuum_enabled = off);
ALTER TABLE outbox.dead SET (autovacuum_enabled = off);
ALTER TABLE outbox.saved_id SET (autovacuum_enabled = off);
ALTER TABLE outbox.published_default SET (autovacuum_enabled = off);
ALTER TABLE outbox.published_20200101 SET (autovacuum_enabled = off);
ALTER TABLE outbox.published_20200102 SET (autovacuum_enabled = off);
ALTER TABLE outbox.published_20200103 SET (autovacuum_enabled = off);
