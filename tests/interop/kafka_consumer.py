"""Reads topics of Kafka from their beginning, each partition in its order, and prints their records, a line of JSON each.

    kafka_consumer.py SERVER COUNT TOPIC..

It returns when it has read so many records and nothing comes behind them, or when nothing comes at all. It joins no group: it
names the partitions that it reads. It does not ask where they end either, as not every server tells the truth about that.
"""

from __future__ import annotations

import base64
import json
import sys

from kafka import KafkaConsumer, TopicPartition
from kafka.partitioner.default import murmur2

#: How long a record that was confirmed may be on its way, in milliseconds.
PATIENCE = 20_000
#: How long one is waited for that must not be there.
IMPATIENCE = 300


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that clients in Java choose."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def main(server: str, count: int, topics: list[str]) -> None:
    consumer = KafkaConsumer(bootstrap_servers=server, group_id=None, enable_auto_commit=False)
    partitions = {topic: consumer.partitions_for_topic(topic) for topic in topics}
    assert all(partitions.values()), partitions
    assigned = [TopicPartition(topic, number) for topic, numbers in partitions.items() for number in numbers]
    consumer.assign(assigned)
    consumer.seek_to_beginning(*assigned)
    read = 0
    while batches := consumer.poll(timeout_ms=PATIENCE if read < count else IMPATIENCE):
        for record in (record for batch in batches.values() for record in batch):
            read += 1
            ids = [value.decode() for name, value in record.headers if name == "bq-message-id"]
            headers = [(name, value.decode()) for name, value in record.headers if name != "bq-message-id"]
            total = len(partitions[record.topic])
            printed = {
                "place": record.topic,
                "id": ids[0],
                "key": None if record.key is None else record.key.decode(),
                "headers": headers,
                "timestamp": record.timestamp,
                "body": base64.b64encode(record.value).decode("ascii"),
                "is_where_java_puts_it": record.key is None or record.partition == partition_of(record.key, total),
            }
            assert len(ids) == 1, printed
            print(json.dumps(printed))
    consumer.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
