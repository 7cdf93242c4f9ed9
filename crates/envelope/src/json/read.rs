//! Reading JSON text strictly, with a stack of its own, so that no input can overflow the thread's.

use super::{Number, Object, Value};
use crate::{MAX_DEPTH, Malformed};

/// Reads one JSON value that fills `text`, but for white space around it, and that is to stand inside `outer` containers.
pub(crate) fn read(text: &str, outer: usize) -> Result<Value, Malformed> {
    Reader {
        text,
        at: 0,
        depth: MAX_DEPTH - outer,
    }
    .document()
}

/// An array or object whose end has not been met yet; the name is that of the member being read.
enum Open {
    Array(Vec<Value>),
    Object(Vec<(String, Value)>, String),
}

struct Reader<'a> {
    text: &'a str,
    /// Always on a character boundary.
    at: usize,
    /// How many containers may be open at once.
    depth: usize,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Value, Malformed> {
        let mut open = Vec::new();
        loop {
            self.skip_space();
            let scalar_or_empty = match self.peek() {
                Some(b'[' | b'{') if open.len() == self.depth => {
                    return Err(self.malformed("nesting is too deep"));
                }
                Some(b'[') => {
                    self.at += 1;
                    self.skip_space();
                    if !self.eat(b']') {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                    Value::Array(Vec::new())
                }
                Some(b'{') => {
                    self.at += 1;
                    self.skip_space();
                    if !self.eat(b'}') {
                        open.push(Open::Object(Vec::new(), self.name()?));
                        continue;
                    }
                    Value::Object(Object::default())
                }
                _ => self.scalar()?,
            };
            if let Some(document) = self.close(&mut open, scalar_or_empty)? {
                self.skip_space();
                return if self.at == self.text.len() {
                    Ok(document)
                } else {
                    Err(self.malformed("more than one value"))
                };
            }
        }
    }

    /// Puts a complete value into the innermost open one, and completes what ends there. `None` if another value follows.
    fn close(
        &mut self,
        open: &mut Vec<Open>,
        mut value: Value,
    ) -> Result<Option<Value>, Malformed> {
        loop {
            let Some(innermost) = open.pop() else {
                return Ok(Some(value));
            };
            self.skip_space();
            value = match innermost {
                Open::Array(mut items) => {
                    items.push(value);
                    if self.eat(b',') {
                        open.push(Open::Array(items));
                        return Ok(None);
                    }
                    self.expect(b']', "expected a comma or the end of the array")?;
                    Value::Array(items)
                }
                Open::Object(mut members, name) => {
                    members.push((name, value));
                    if self.eat(b',') {
                        self.skip_space();
                        open.push(Open::Object(members, self.name()?));
                        return Ok(None);
                    }
                    self.expect(b'}', "expected a comma or the end of the object")?;
                    Value::Object(Object::last_wins(members))
                }
            };
        }
    }

    /// Reads a member's name and the colon after it.
    fn name(&mut self) -> Result<String, Malformed> {
        self.expect(b'"', "expected the name of a member")?;
        let name = self.string()?;
        self.skip_space();
        self.expect(b':', "expected a colon")?;
        Ok(name)
    }

    fn scalar(&mut self) -> Result<Value, Malformed> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.string().map(Value::String)
            }
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            _ => {
                for (word, value) in [
                    ("null", Value::Null),
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                ] {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.malformed("expected a value"))
            }
        }
    }

    fn number(&mut self) -> Result<Number, Malformed> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        let too_long = Malformed {
            offset: start,
            reason: "an integer has too many digits",
        };
        Number::read(&self.text[start..self.at]).ok_or(too_long)
    }

    /// Skips digits, at least one.
    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            Err(self.malformed("expected a digit"))
        } else {
            Ok(())
        }
    }

    /// Reads a string whose opening quote has been eaten.
    fn string(&mut self) -> Result<String, Malformed> {
        let mut string = String::new();
        loop {
            let start = self.at;
            while self
                .peek()
                .is_some_and(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
            {
                self.at += 1;
            }
            string.push_str(&self.text[start..self.at]);
            if self.eat(b'"') {
                return Ok(string);
            }
            if !self.eat(b'\\') {
                return Err(self.malformed("expected the end of a string"));
            }
            string.push(self.escape()?);
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Result<char, Malformed> {
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.malformed("unknown escape")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// Reads what follows `\u`: four hex digits, or a surrogate pair of two such escapes.
    fn unicode(&mut self) -> Result<char, Malformed> {
        let unpaired = Malformed {
            offset: self.at - 2,
            reason: "a surrogate escape is not paired",
        };
        let first = self.hex()?;
        let mut second = None;
        if (0xD800..0xDC00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            second = Some(self.hex()?);
        }
        let mut decoded = char::decode_utf16([first].into_iter().chain(second));
        match (decoded.next(), decoded.next()) {
            (Some(Ok(c)), None) => Ok(c),
            _ => Err(unpaired),
        }
    }

    fn hex(&mut self) -> Result<u16, Malformed> {
        let digits = self
            .text
            .as_bytes()
            .get(self.at..self.at + 4)
            .unwrap_or_default();
        if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(self.malformed("expected four hex digits"));
        }
        let unit = u16::from_str_radix(&self.text[self.at..self.at + 4], 16)
            .expect("four hex digits fit in 16 bits");
        self.at += 4;
        Ok(unit)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips `byte`, which is ASCII, if it comes next.
    fn eat(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    fn expect(&mut self, byte: u8, reason: &'static str) -> Result<(), Malformed> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.malformed(reason))
        }
    }

    fn malformed(&self, reason: &'static str) -> Malformed {
        Malformed {
            offset: self.at,
            reason,
        }
    }
}
