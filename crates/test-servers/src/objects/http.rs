//! As much of HTTP as a client of objects speaks: requests with a length, and answers to them.

use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;

/// The longest body of a request; a server of records writes less at once, though more than the longest record.
const MOST: u64 = 256 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without what follows a question mark.
    pub(super) path: String,
    parameters: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Answer {
    code: u16,
    tag: Option<String>,
    body: Vec<u8>,
}

impl Request {
    /// Reads the next one; none if the client has gone.
    pub(super) fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let (path, parameters) = target.split_once('?').unwrap_or((&target, ""));
        let mut request = Self {
            method,
            path: path.to_owned(),
            parameters: parameters.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let mut line = String::new();
            from.read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            let header = (name.to_ascii_lowercase(), value.trim().to_owned());
            request.headers.push(header);
        }
        let length = request.header("content-length").unwrap_or("0").parse();
        let length = length.ok().filter(|length| *length <= MOST);
        let length = length.ok_or(io::ErrorKind::InvalidData)?;
        from.take(length).read_to_end(&mut request.body)?;
        Ok(Some(request))
    }

    /// The value of a header, whose name is in small letters.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(other, _)| other == name)?;
        Some(value)
    }

    /// The value of a parameter, without its escapes: of them names here have only that of the slash.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = self.parameters.split('&');
        let value = pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.replace("%2F", "/"))
    }
}

impl Answer {
    pub(super) fn object(bytes: &[u8], tag: &str) -> Self {
        Self {
            code: 200,
            tag: Some(tag.to_owned()),
            body: bytes.to_owned(),
        }
    }

    pub(super) fn text(code: u16, text: String) -> Self {
        Self {
            code,
            tag: None,
            body: text.into_bytes(),
        }
    }

    pub(super) fn error(code: u16, name: &str) -> Self {
        Self::text(code, format!("<Error><Code>{name}</Code></Error>"))
    }

    pub(super) fn write(&self, mut to: &TcpStream) -> io::Result<()> {
        to.write_all(&self.bytes())
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let length = self.body.len();
        let mut head = format!("HTTP/1.1 {} \r\nContent-Length: {length}\r\n", self.code);
        if let Some(tag) = &self.tag {
            let dated = "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT";
            write!(head, "ETag: {tag}\r\n{dated}\r\n").expect("a text takes everything");
        }
        head.push_str("\r\n");
        [head.as_bytes(), &self.body].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_one_after_the_other() {
        let mut text: &[u8] = b"PUT /a/b?x=1 HTTP/1.1\r\nIf-Match: \"7\"\r\nContent-Length: 3\r\n\r\nabcGET /a?list-type=2&prefix=b%2Fc HTTP/1.1\r\n\r\n";
        let put = Request::read(&mut text).unwrap().unwrap();
        assert_eq!(
            (&*put.method, &*put.path, &*put.body),
            ("PUT", "/a/b", &b"abc"[..])
        );
        assert_eq!(put.header("if-match"), Some("\"7\""));
        let list = Request::read(&mut text).unwrap().unwrap();
        assert_eq!(list.parameter("prefix").as_deref(), Some("b/c"));
        assert_eq!(list.parameter("fix"), None);
        assert!(list.body.is_empty());
        assert!(Request::read(&mut text).unwrap().is_none());
    }
}
