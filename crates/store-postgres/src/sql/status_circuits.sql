-- Open circuits, for people, but for those whose next probe is overdue by more than $1 ms.
SELECT
  c.destination,
  c.relay,
  (extract(epoch FROM c.open_since) * 1000)::bigint,
  (extract(epoch FROM c.next_probe) * 1000)::bigint,
  c.error
FROM outbox.destination_state c
WHERE c.next_probe >= clock_timestamp() - make_interval(secs => $1::bigint / 1000.0)
ORDER BY c.destination, c.relay
