"""An application that saves envelopes through BabelQueue's `Outbox`: `application_babelqueue.py DATABASE SCHEMA QUEUE...`

Its store is the example of the documentation. Each order is a transaction of a row and one envelope for each queue, and
every third one is rolled back. What was committed is printed, a line of JSON for each envelope.
"""

from __future__ import annotations

import base64
import json
import sys
import uuid
from typing import Any

import psycopg
from babelqueue import EnvelopeCodec
from babelqueue.outbox import Outbox, OutboxRelay, OutboxStore
from babelqueue.transport import InMemoryTransport
from babelqueue_postgres import PostgresOutboxStore
from psycopg import sql

ORDERS = 60
CUSTOMERS = 7
JOB = "urn:babel:orders:created"


class Refused(Exception):
    """A rule of the business, found after the envelope was written."""


def envelope_of(order: int, queue: str) -> dict[str, Any]:
    data = {
        "order": order,
        "customer": f"zákazník {order % CUSTOMERS} 🐎",
        "note": "quotes \" ' \\ and \u2028 \u0000 \x7f",
        "numbers": [2**53 + 1, -(2**63), 10**30 + order, 0.1, 1e16, 1e-7, -0.0],
        "empty": [{}, [], "", None],
    }
    trace_id = str(uuid.UUID(int=order + 1)) if order % 2 else None
    return EnvelopeCodec.make(JOB, data, queue=queue, trace_id=trace_id, meta={"ext": {"shop": order}})


def customer_of(envelope: Any) -> str:
    customer: str = envelope["data"]["customer"]
    return customer


def main(database: str, schema: str, *queues: str) -> None:
    insert = sql.SQL("INSERT INTO {}.orders (id, customer) VALUES (%s, %s)").format(sql.Identifier(schema))
    with psycopg.connect(database) as connection:
        store = PostgresOutboxStore(connection, key_of=customer_of, schema=schema)
        assert isinstance(store, OutboxStore)
        outbox = Outbox(store)
        for order in range(ORDERS):
            envelopes = [envelope_of(order, queue) for queue in queues]
            try:
                with connection.transaction():
                    connection.execute(insert, (order, str(order % CUSTOMERS)))
                    positions = [int(outbox.write(envelope)) for envelope in envelopes]
                    assert positions == sorted(positions)
                    if order % 3 == 2:
                        raise Refused
            except Refused:
                continue
            for envelope in envelopes:
                committed = {
                    "id": envelope["meta"]["id"],
                    "key": customer_of(envelope),
                    "queue": envelope["meta"]["queue"],
                    "trace_id": envelope["trace_id"],
                    "body": base64.b64encode(EnvelopeCodec.encode(envelope).encode("utf-8")).decode("ascii"),
                }
                print(json.dumps(committed))

        refuses(lambda: OutboxRelay(InMemoryTransport(), store).drain(), "outbox relay")
    with psycopg.connect(database, autocommit=True) as connection:
        store = PostgresOutboxStore(connection, key_of=customer_of, schema=schema)
        refuses(lambda: Outbox(store).write(envelope_of(ORDERS, queues[0])), "no transaction is open")


def refuses(call: Any, why: str) -> None:
    try:
        call()
    except RuntimeError as error:
        assert why in str(error), error
    else:
        raise AssertionError(f"not refused: {why}")


if __name__ == "__main__":
    main(*sys.argv[1:])
