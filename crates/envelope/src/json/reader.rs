//! The tokens of JSON text, strictly: white space, strings, numbers and the three words. What they make up is read elsewhere.

use std::borrow::Cow;

use super::{Number, Value};
use crate::Malformed;

/// A place in JSON text.
pub(crate) struct Reader<'a> {
    text: &'a str,
    /// Always on a character boundary.
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips `byte`, which is ASCII, if it comes next.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    pub(super) fn expect(&mut self, byte: u8, reason: &'static str) -> Result<(), Malformed> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.malformed(reason))
        }
    }

    pub(crate) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.rest().is_empty() {
            Ok(())
        } else {
            Err(self.malformed("expected nothing more"))
        }
    }

    /// How many bytes have been read.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// What has been read since `place`.
    pub(crate) fn since(&self, place: usize) -> &'a str {
        &self.text[place..self.at]
    }

    /// Reads the object that comes next; `value` reads each member's value, given its name.
    pub(crate) fn members<E: From<Malformed>>(
        &mut self,
        mut value: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'{', "expected an object")?;
        self.skip_space();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            let name = self.name()?;
            value(self, name)?;
            self.skip_space();
            if !self.eat(b',') {
                self.expect(b'}', "expected a comma or the end of the object")?;
                return Ok(());
            }
            self.skip_space();
        }
    }

    /// Reads the array that comes next; `item` reads each item.
    pub(crate) fn items<E: From<Malformed>>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'[', "expected an array")?;
        self.skip_space();
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            item(self)?;
            self.skip_space();
            if !self.eat(b',') {
                self.expect(b']', "expected a comma or the end of the array")?;
                return Ok(());
            }
            self.skip_space();
        }
    }

    /// Reads a member's name, and the colon and the white space around it.
    pub(super) fn name(&mut self) -> Result<Cow<'a, str>, Malformed> {
        self.expect(b'"', "expected the name of a member")?;
        let name = self.string()?;
        self.skip_space();
        self.expect(b':', "expected a colon")?;
        self.skip_space();
        Ok(name)
    }

    /// Reads the string that comes next, if one does.
    pub(crate) fn text(&mut self) -> Option<Result<Cow<'a, str>, Malformed>> {
        self.eat(b'"').then(|| self.string())
    }

    /// Reads the number that comes next, if one does.
    pub(crate) fn number(&mut self) -> Option<Result<Number, Malformed>> {
        matches!(self.peek(), Some(b'-' | b'0'..=b'9')).then(|| self.literal())
    }

    /// Skips `word` if it comes next.
    pub(crate) fn word(&mut self, word: &str) -> bool {
        let next = self.rest().starts_with(word);
        self.at += if next { word.len() } else { 0 };
        next
    }

    /// Reads a value that is neither an array nor an object.
    pub(super) fn scalar(&mut self) -> Result<Value, Malformed> {
        if let Some(text) = self.text() {
            return Ok(Value::String(text?.into_owned()));
        }
        if let Some(number) = self.number() {
            return number.map(Value::Number);
        }
        self.constant()
    }

    /// Reads one of the three words.
    pub(super) fn constant(&mut self) -> Result<Value, Malformed> {
        if self.word("null") {
            Ok(Value::Null)
        } else if self.word("true") {
            Ok(Value::Bool(true))
        } else if self.word("false") {
            Ok(Value::Bool(false))
        } else {
            Err(self.malformed("expected a value"))
        }
    }

    fn literal(&mut self) -> Result<Number, Malformed> {
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

    /// Reads a string whose opening quote has been eaten. Without an escape it is borrowed.
    fn string(&mut self) -> Result<Cow<'a, str>, Malformed> {
        let plain = self.plain();
        if self.eat(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        let mut string = plain.to_owned();
        loop {
            self.expect(b'\\', "expected the end of a string")?;
            string.push(self.escape()?);
            string.push_str(self.plain());
            if self.eat(b'"') {
                return Ok(Cow::Owned(string));
            }
        }
    }

    /// Reads the characters of a string up to what cannot stand there as it is.
    fn plain(&mut self) -> &'a str {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
        {
            self.at += 1;
        }
        self.since(start)
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Result<char, Malformed> {
        let c = match self.peek() {
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
        Ok(c)
    }

    /// Reads what follows `\u`: four hex digits, or a surrogate pair of two such escapes.
    fn unicode(&mut self) -> Result<char, Malformed> {
        let unpaired = Malformed {
            offset: self.at - 2,
            reason: "a surrogate escape is not paired",
        };
        let first = self.hex()?;
        let mut second = None;
        if (0xD800..0xDC00).contains(&first) && self.rest().starts_with("\\u") {
            self.at += 2;
            second = Some(self.hex()?);
        }
        let mut decoded = char::decode_utf16([first].into_iter().chain(second));
        decoded.next().and_then(Result::ok).ok_or(unpaired)
    }

    fn hex(&mut self) -> Result<u16, Malformed> {
        let four = self.text.get(self.at..self.at + 4).unwrap_or_default();
        // The check comes first because `from_str_radix` takes a sign.
        let unit = four
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then(|| u16::from_str_radix(four, 16));
        let Some(Ok(unit)) = unit else {
            return Err(self.malformed("expected four hex digits"));
        };
        self.at += 4;
        Ok(unit)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn malformed(&self, reason: &'static str) -> Malformed {
        Malformed {
            offset: self.at,
            reason,
        }
    }
}
