//! A reader that speaks the protocol itself, straight to one broker: what a partition has, without the client library that the
//! publisher uses and without the addresses that the broker tells its clients.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

/// A record of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) key: Option<String>,
    pub(crate) payload: Vec<u8>,
    /// In the order of the wire.
    pub(crate) headers: Vec<(String, String)>,
    /// In Unix milliseconds.
    pub(crate) timestamp: i64,
}

impl Stored {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.payload).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(other, _)| other == name)?;
        Some(value)
    }
}

/// Everything in a partition, in its order. There is nothing in one that does not exist.
pub(crate) fn partition(port: u16, topic: &str, partition: i32) -> Vec<Stored> {
    let mut stored = Vec::new();
    follow(port, topic, partition, &mut stored);
    stored
}

/// Adds what came to a partition since the last time.
pub(crate) fn follow(port: u16, topic: &str, partition: i32, stored: &mut Vec<Stored>) {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let patience = Some(Duration::from_secs(30));
    connection.set_read_timeout(patience).unwrap();
    loop {
        let next = i64::try_from(stored.len()).unwrap();
        let request = fetch(topic, partition, next);
        connection.write_all(&request).unwrap();
        let fetched = Fetched::read(&answer(&mut connection).unwrap());
        stored.extend(records(&fetched.records, next));
        if i64::try_from(stored.len()).unwrap() >= fetched.end {
            return;
        }
    }
}

/// The request 1 in version 4, the first one whose answer has headers.
fn fetch(topic: &str, partition: i32, from: i64) -> Vec<u8> {
    const BYTES: i32 = 128 * 1024 * 1024;
    let mut body = Vec::new();
    let mut put = |bytes: &[u8]| body.extend_from_slice(bytes);
    put(&1_i16.to_be_bytes());
    put(&4_i16.to_be_bytes());
    put(&7_i32.to_be_bytes());
    put(&(-1_i16).to_be_bytes());
    // Which replica, how long to wait, how much at least and at most, and whether to read what is not committed.
    put(&(-1_i32).to_be_bytes());
    put(&100_i32.to_be_bytes());
    put(&0_i32.to_be_bytes());
    put(&BYTES.to_be_bytes());
    put(&[0]);
    put(&1_i32.to_be_bytes());
    put(&i16::try_from(topic.len()).unwrap().to_be_bytes());
    put(topic.as_bytes());
    put(&1_i32.to_be_bytes());
    put(&partition.to_be_bytes());
    put(&from.to_be_bytes());
    put(&BYTES.to_be_bytes());
    let mut request = i32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    request.extend(body);
    request
}

fn answer(connection: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    connection.read_exact(&mut length)?;
    let mut answer = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
    connection.read_exact(&mut answer)?;
    Ok(answer)
}

/// What an answer says of the one partition.
struct Fetched {
    /// The offset behind the last record.
    end: i64,
    /// Batches of records, the last one perhaps cut off.
    records: Vec<u8>,
}

impl Fetched {
    fn read(answer: &[u8]) -> Self {
        let mut from = Bytes(answer);
        let (_number, _throttled) = (from.i32(), from.i32());
        assert_eq!(from.i32(), 1, "one topic");
        let name = from.i16();
        from.take(name.into());
        assert_eq!(from.i32(), 1, "one partition");
        let (_partition, error, end, _stable) = (from.i32(), from.i16(), from.i64(), from.i64());
        // There is no such topic or partition.
        if error == 3 {
            let records = Vec::new();
            return Self { end: 0, records };
        }
        assert_eq!(error, 0, "the code of an error");
        for _ in 0..from.i32().max(0) {
            from.take(16);
        }
        let length = from.i32().max(0);
        let records = from.take(length.into()).to_vec();
        Self { end, records }
    }
}

/// The records of whole batches, from this offset on.
fn records(batches: &[u8], first: i64) -> Vec<Stored> {
    let mut from = Bytes(batches);
    let mut stored = Vec::new();
    while from.0.len() >= 12 {
        let (base, length) = (from.i64(), from.i32());
        if from.0.len() < usize::try_from(length).unwrap() {
            break;
        }
        let mut batch = Bytes(from.take(length.into()));
        batch.take(4);
        assert_eq!(batch.take(1), [2], "batches of version 2");
        let (_checksum, attributes) = (batch.i32(), batch.i16());
        assert_eq!(attributes & 0b111, 0, "nothing is compressed");
        let (_last, time) = (batch.i32(), batch.i64());
        // The latest time, and who produced it under which number.
        batch.take(8 + 8 + 2 + 4);
        for number in 0..batch.i32() {
            let record = batch.record(time);
            if base + i64::from(number) >= first {
                stored.push(record);
            }
        }
    }
    stored
}

/// Bytes that are read from their beginning.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: i64) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(usize::try_from(count).unwrap());
        self.0 = rest;
        taken
    }

    fn i16(&mut self) -> i16 {
        i16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn i64(&mut self) -> i64 {
        i64::from_be_bytes(self.take(8).try_into().unwrap())
    }

    /// A number of as many bytes as it needs, the sign in its lowest bit.
    fn varint(&mut self) -> i64 {
        let mut number = 0_i64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)[0];
            number |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        (number >> 1) ^ -(number & 1)
    }

    fn sized(&mut self) -> Option<&'a [u8]> {
        let length = self.varint();
        (length >= 0).then(|| self.take(length))
    }

    fn text(&mut self) -> Option<String> {
        let text = self.sized()?.to_vec();
        Some(String::from_utf8(text).unwrap())
    }

    fn record(&mut self, time: i64) -> Stored {
        let _length = self.varint();
        self.take(1);
        let timestamp = time + self.varint();
        let _number = self.varint();
        let key = self.text();
        let payload = self.sized().expect("a value and no tombstone").to_vec();
        let headers = (0..self.varint()).map(|_| (self.text().unwrap(), self.text().unwrap()));
        Stored {
            key,
            payload,
            headers: headers.collect(),
            timestamp,
        }
    }
}
