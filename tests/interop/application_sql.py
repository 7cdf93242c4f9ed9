"""An application that saves messages through the SQL function: `application_sql.py DATABASE SCHEMA TOPIC`.

Each order is a transaction of a row and two messages. Every third one ends in a rollback, in one of two ways. What was
committed is printed, a line of JSON for each message.
"""

from __future__ import annotations

import base64
import json
import sys
import uuid
from dataclasses import dataclass, field

import psycopg
from psycopg import sql

ORDERS = 60
CUSTOMERS = ["1042", "Žofie 🐎", 'o\'brien \\ "quoted" %s']


@dataclass
class Message:
    key: str | None
    payload: str | bytes
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    content_type: str | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)


class Refused(Exception):
    """A rule of the business, found after the messages were saved."""


def messages_of(order: int) -> list[Message]:
    customer = CUSTOMERS[order % len(CUSTOMERS)]
    trace = f"00-{uuid.uuid4().hex}-{order + 1:016x}-01"
    text = json.dumps(
        {"order": order, "note": "žluťoučký 🐎 \u2028 \\n \\x41", "large": 2**70 + order}, ensure_ascii=False
    )
    return [
        Message(
            customer,
            text,
            content_type="application/json",
            headers=[("traceparent", trace), ("tag", "a"), ("tag", "ž")],
        ),
        # Any bytes: what is no text, and none at all.
        Message(None if order % 4 == 0 else customer, bytes(range(256)) + bytes([order]) if order % 2 else b""),
    ]


def main(database: str, schema: str, topic: str) -> None:
    save = sql.SQL(
        "SELECT {}.save(topic => %s, payload => %s, key => %s, headers => %s, content_type => %s, id => %s)"
    ).format(sql.Identifier(schema))
    insert = sql.SQL("INSERT INTO {}.orders (id, customer) VALUES (%s, %s)").format(sql.Identifier(schema))

    with psycopg.connect(database) as connection:
        connection.autocommit = True
        for order in range(ORDERS):
            messages = messages_of(order)
            try:
                with connection.transaction():
                    connection.execute(insert, (order, CUSTOMERS[order % len(CUSTOMERS)]))
                    for message in messages:
                        headers = json.dumps(message.headers) if message.headers else None
                        arguments = (topic, message.payload, message.key, headers, message.content_type, message.id)
                        connection.execute(save, arguments)
                    if order % 6 == 2:
                        raise Refused
                    if order % 6 == 5:
                        # The database refuses: there is such an order.
                        connection.execute(insert, (order, "again"))
            except (Refused, psycopg.errors.UniqueViolation):
                continue
            for message in messages:
                payload = message.payload.encode("utf-8") if isinstance(message.payload, str) else message.payload
                committed = {
                    "id": message.id,
                    "key": message.key,
                    "content_type": message.content_type,
                    "headers": message.headers,
                    "payload": base64.b64encode(payload).decode("ascii"),
                }
                print(json.dumps(committed))


if __name__ == "__main__":
    main(*sys.argv[1:])
