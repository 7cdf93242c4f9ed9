//! The tokens of JSON text, strictly: white space, strings, numbers and the three words. What they make up is read elsewhere.

use std::borrow::Cow;

use super::{Number, Value, string::plain};
use crate::Malformed;

/// A place in JSON text.
pub(crate) struct Reader<'a> {
    text: &'a str,
    /// Always on a character boundary.
    at: usize,
    /// Room for text that is being written, kept from value to value.
    pub(super) room: String,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            room: String::new(),
        }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips `byte`, which is ASCII, if it comes next.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        // A jump, which the processor takes before it has read the byte; a sum would have to wait for it.
        if next {
            self.at += 1;
        }
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
    #[inline]
    pub(super) fn name(&mut self) -> Result<Cow<'a, str>, Malformed> {
        match self.plain_name() {
            Some(name) => Ok(Cow::Borrowed(name)),
            None => self.any_name(),
        }
    }

    /// Reads what most names are: without an escape, and without white space around the colon.
    fn plain_name(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        if self.peek() != Some(b'"') {
            return None;
        }
        let (name, end) = self.plain_at(self.at + 1)?;
        let is_followed = bytes.get(end + 1).is_some_and(|byte| *byte > b' ');
        if bytes.get(end) != Some(&b':') || !is_followed {
            return None;
        }
        self.at = end + 1;
        Some(name)
    }

    fn any_name(&mut self) -> Result<Cow<'a, str>, Malformed> {
        self.expect(b'"', "expected the name of a member")?;
        let name = self.string()?;
        self.skip_space();
        self.expect(b':', "expected a colon")?;
        self.skip_space();
        Ok(name)
    }

    /// Reads the string that comes next, if one does.
    #[inline]
    pub(crate) fn text(&mut self) -> Option<Result<Cow<'a, str>, Malformed>> {
        self.eat(b'"').then(|| self.string())
    }

    /// Reads the number that comes next, if one does.
    #[inline]
    pub(crate) fn number(&mut self) -> Option<Result<Number, Malformed>> {
        matches!(self.peek(), Some(b'-' | b'0'..=b'9')).then(|| self.literal())
    }

    /// Skips `word` if it comes next.
    pub(crate) fn word(&mut self, word: &str) -> bool {
        let next = self.rest().starts_with(word);
        if next {
            self.at += word.len();
        }
        next
    }

    /// Reads a value that is neither an array nor an object.
    #[inline]
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
    #[inline]
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
        if !matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return Number::read_integer(self.since(start)).ok_or(Malformed {
                offset: start,
                reason: "an integer has too many digits",
            });
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(Number::read_double(self.since(start)))
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
    #[inline]
    fn string(&mut self) -> Result<Cow<'a, str>, Malformed> {
        match self.plain_string() {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.escaped().map(Cow::Owned),
        }
    }

    /// Reads the rest of a string that has no escape.
    fn plain_string(&mut self) -> Option<&'a str> {
        let (text, end) = self.plain_at(self.at)?;
        self.at = end;
        Some(text)
    }

    /// What stands between `start` and the next quote, and where that ends, if nothing is escaped there.
    #[inline]
    fn plain_at(&self, start: usize) -> Option<(&'a str, usize)> {
        let end = start + plain(self.text.as_bytes().get(start..)?);
        (self.text.as_bytes().get(end) == Some(&b'"')).then(|| (&self.text[start..end], end + 1))
    }

    /// Reads the rest of a string that has an escape, or is malformed.
    #[cold]
    fn escaped(&mut self) -> Result<String, Malformed> {
        let mut string = self.plain().to_owned();
        loop {
            self.expect(b'\\', "expected the end of a string")?;
            string.push(self.escape()?);
            string.push_str(self.plain());
            if self.eat(b'"') {
                return Ok(string);
            }
        }
    }

    /// Reads the characters of a string up to what cannot stand there as it is.
    #[inline]
    fn plain(&mut self) -> &'a str {
        let start = self.at;
        self.at += plain(&self.text.as_bytes()[start..]);
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
