"""Drives omni-box 0.3.1 for the benches, by the protocol of `tests/peers/README.md`.

The relay is the loop of its README: a transaction a cycle, around `publish_batch`. Two things differ, and both can only help
it: a cycle that found nothing sleeps 5 ms instead of a second, and structlog prints errors alone. A message is done when the
transaction of its cycle is committed. It hands out the first message of each key in a cycle, so with one key a cycle is one
message; every message has a key, so where none is asked for, each has its own.

A filled table is as its own writer leaves it, a microsecond between two messages, but filled by one statement.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from uuid import UUID

import structlog

# Its default prints a line for each message that is saved, where the benches read.
structlog.configure(
    wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
    logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
)

from omni_box import OmniBoxDomainService, OutboxPublisher  # noqa: E402
from omni_box.core.protocols import EventPublisher  # noqa: E402
from omni_box.infra.storage.postgres import OutboxEventDBBase, PostgresOutboxRepository  # noqa: E402
from sqlalchemy import text  # noqa: E402
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker, create_async_engine  # noqa: E402
from sqlalchemy.orm import DeclarativeBase  # noqa: E402

IDLE_SECONDS = 0.005
# How long a cycle that is under way may take to end, once nobody listens.
PATIENCE_SECONDS = 0.4
DOMAIN = OmniBoxDomainService()
AGGREGATE = UUID(int=1)

# Its names and values are those that `create` stores.
FILL = """
INSERT INTO outbox_events (
    id, event_type, payload, headers, status, attempts_made, max_attempts, scheduled_at, created_at, updated_at,
    aggregate_type, aggregate_id, topic, partition_key
)
SELECT gen_random_uuid(),
       'order.placed',
       ('{"order":' || i || ',"note":"' || repeat('x', 180 - length(i::text)) || '"}')::jsonb,
       'null'::jsonb,
       'pending',
       0,
       :max_attempts,
       at,
       at,
       now(),
       'order',
       :aggregate,
       'orders',
       'key-' || CASE WHEN :keys = 0 THEN i ELSE i % :keys END
FROM generate_series(1, :messages) i,
     LATERAL (SELECT now() - make_interval(secs => (:messages - i) / 1e6) AS at) time
"""
LEFT = "SELECT count(*) FROM outbox_events WHERE status <> 'completed'"


class Base(DeclarativeBase):
    pass


class OutboxEventDB(Base, OutboxEventDBBase):
    pass


class Publisher(EventPublisher):
    """Publishes nowhere."""

    def __init__(self, round_trip: float) -> None:
        self.round_trip = round_trip

    async def publish(self, event, repo) -> None:
        if self.round_trip:
            await asyncio.sleep(self.round_trip)


def engine(url: str, connections: int = 1) -> AsyncEngine:
    _, address = url.split("://", 1)
    return create_async_engine(f"postgresql+asyncpg://{address}", pool_size=connections)


async def prepare(url: str, messages: int, keys: int) -> None:
    database = engine(url)
    async with database.begin() as connection:
        await connection.run_sync(Base.metadata.drop_all)
        await connection.run_sync(Base.metadata.create_all)
        values = {"messages": messages, "keys": keys, "aggregate": AGGREGATE, "max_attempts": DOMAIN.max_attempts}
        await connection.execute(text(FILL), values)
    async with database.connect() as connection:
        alone = await connection.execution_options(isolation_level="AUTOCOMMIT")
        await alone.execute(text("VACUUM ANALYZE outbox_events"))
    await database.dispose()


async def relay(url: str, batch: int, round_trip: float) -> None:
    database = engine(url)
    sessions = async_sessionmaker(database, expire_on_commit=False)
    publisher = Publisher(round_trip)
    worker = f"relay-{os.getpid()}"
    # Takes no message.
    async with sessions() as session, session.begin():
        await PostgresOutboxRepository(session, model_class=OutboxEventDB).fetch_pending(1)
    print("ready", flush=True)
    if sys.stdin.readline().strip() != "go":
        sys.exit("go was expected")
    ended = threading.Event()
    threading.Thread(target=wait_for_end, args=[ended], daemon=True).start()
    while not ended.is_set():
        async with sessions() as session, session.begin():
            repo = PostgresOutboxRepository(session, model_class=OutboxEventDB)
            result = await OutboxPublisher(repo, publisher).publish_batch(
                worker_id=worker, batch_size=batch, shutdown_requested_func=ended.is_set
            )
        count = len(result.processed_event_ids)
        if count:
            print("done", count, time.time_ns() // 1000, flush=True)
        else:
            await asyncio.sleep(IDLE_SECONDS)
    await database.dispose()


def wait_for_end(ended: threading.Event) -> None:
    while sys.stdin.readline():
        pass
    ended.set()
    time.sleep(PATIENCE_SECONDS)
    os._exit(0)


async def left(url: str) -> None:
    database = engine(url)
    async with database.connect() as connection:
        print(await connection.scalar(text(LEFT)))
    await database.dispose()


async def save(url: str, writers: int, per_transaction: int, seconds: float) -> None:
    database = engine(url, writers)
    sessions = async_sessionmaker(database, expire_on_commit=False)
    began = time.perf_counter()

    async def write() -> int:
        saved = 0
        while time.perf_counter() - began < seconds:
            events = [event(saved + i) for i in range(per_transaction)]
            async with sessions() as session, session.begin():
                repo = PostgresOutboxRepository(session, model_class=OutboxEventDB)
                if per_transaction == 1:
                    await repo.create(events[0])
                else:
                    await repo.bulk_create(events)
            saved += per_transaction
        return saved

    saved = sum(await asyncio.gather(*[write() for _ in range(writers)]))
    print("saved", saved, time.perf_counter() - began)
    await database.dispose()


def event(order: int):
    return DOMAIN.create_outbox_event(
        aggregate_type="order",
        aggregate_id=AGGREGATE,
        event_type="order.placed",
        topic="orders",
        partition_key=f"key-{order}",
        payload={"order": order, "note": "x" * (180 - len(str(order)))},
    )


def main() -> None:
    match sys.argv[1:]:
        case ["prepare", url, messages, keys]:
            asyncio.run(prepare(url, int(messages), int(keys)))
        case ["relay", url, batch]:
            asyncio.run(relay(url, int(batch), 0))
        case ["relay", url, batch, round_trip]:
            asyncio.run(relay(url, int(batch), float(round_trip) / 1000))
        case ["left", url]:
            asyncio.run(left(url))
        case ["save", url, writers, per_transaction, seconds]:
            asyncio.run(save(url, int(writers), int(per_transaction), float(seconds)))
        case _:
            sys.exit("prepare, relay, left or save, and what belongs to it")


main()
