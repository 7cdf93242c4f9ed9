-- Adds the partitions of the next days, and answers how many; one that cannot be added is left for the next time.
SELECT outbox.add_partitions()
