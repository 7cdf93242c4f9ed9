"""The store of BabelQueue's `Outbox` on Postgres, through the SQL function of the outbox.

    with psycopg.connect("postgres://shop@localhost/shop") as connection:
        connection.execute("INSERT INTO orders (id, total) VALUES (%s, %s)", (1042, 9900))
        envelope = EnvelopeCodec.make("urn:babel:orders:created", {"order_id": 1042}, queue="orders")
        store = PostgresOutboxStore(connection, key_of=lambda envelope: str(envelope["data"]["order_id"]))
        Outbox(store).write(envelope)

Both rows are committed together when the connection's block ends. `outbox relay` publishes the message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from babelqueue.outbox import OutboxRecord
from psycopg import Connection, sql
from psycopg.pq import TransactionStatus


class PostgresOutboxStore:
    """Saves envelopes on the caller's connection, and so in the caller's transaction. It begins and ends none."""

    def __init__(
        self,
        connection: Connection[Any],
        *,
        key_of: Callable[[Mapping[str, Any]], str | None] = lambda envelope: None,
        schema: str = "outbox",
    ) -> None:
        """`key_of` names the ordering key of an envelope: messages of one queue and one key keep their order."""
        self._connection = connection
        self._key_of = key_of
        self._save = sql.SQL(
            "SELECT {}.save(topic => %s, payload => %s, key => %s, id => %s, content_type => 'application/json')"
        ).format(sql.Identifier(schema))

    def save(self, encoded: str, queue: str) -> str:
        """Saves the envelope as it was encoded, byte for byte, and returns its position."""
        if self._connection.autocommit and self._connection.info.transaction_status == TransactionStatus.IDLE:
            # The message would be committed by itself, whatever becomes of the rows that it speaks of.
            raise RuntimeError("no transaction is open: write inside of `with connection.transaction():`")
        envelope = json.loads(encoded)
        # The id of the envelope is that of the message too, so that all consumers drop the same duplicates.
        message_id = envelope.get("meta", {}).get("id")
        # Bytes go to the function for `bytea`: nothing on the way can take them for text and change them.
        arguments = (queue, encoded.encode("utf-8"), self._key_of(envelope), message_id)
        with self._connection.cursor() as cursor:
            row = cursor.execute(self._save, arguments).fetchone()
        if row is None:
            raise RuntimeError("the function returned no position")
        return str(row[0])

    # What BabelQueue's `OutboxRelay` would call. It is refused at its first call, before anything is published: the
    # protocol has no leases and no keys, so a second relay of another kind would break the order and publish twice.

    def fetch_unpublished(self, limit: int) -> list[OutboxRecord]:
        _refuse()

    def mark_published(self, ids: list[str]) -> None:
        _refuse()

    def mark_failed(self, id: str, error: str) -> None:
        _refuse()


def _refuse() -> NoReturn:
    raise RuntimeError("these messages are published by `outbox relay`; do not run OutboxRelay on this store")
