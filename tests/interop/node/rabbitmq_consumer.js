// Takes what is in a queue of RabbitMQ, and prints its messages, a line of JSON each: `rabbitmq_consumer.js URL QUEUE`.
//
// The properties that a message has are told among its headers. Of a header that is a list each value is told.

"use strict";

const amqp = require("amqplib");

const PROPERTIES = {
  "app-id": "appId",
  "content-encoding": "contentEncoding",
  "content-type": "contentType",
  "correlation-id": "correlationId",
  type: "type",
};

async function main(url, queue) {
  const connection = await amqp.connect(url);
  const channel = await connection.createChannel();
  let message;
  while ((message = await channel.get(queue))) {
    const { properties, content } = message;
    const named = Object.entries(PROPERTIES).map(([name, property]) => [name, properties[property]]);
    const all = named.filter(([, value]) => value !== undefined).concat(Object.entries(properties.headers ?? {}));
    const read = {
      place: queue,
      id: properties.messageId,
      headers: all.flatMap(([name, values]) => [values].flat().map((value) => [name, String(value)])),
      body: content.toString("base64"),
    };
    console.log(JSON.stringify(read));
    channel.ack(message);
  }
  await channel.close();
  await connection.close();
}

main(...process.argv.slice(2));
