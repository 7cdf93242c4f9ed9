//! What of a URL no text may show, even if a receiver repeats it: many do, as in `Cannot POST /hooks?token=...`. Pure.

use percent_encoding::percent_decode_str;
use url::{Url, form_urlencoded};

/// The query with its values, and the path with its parts if it is a secret: as they are sent, and as a receiver reads them.
pub(crate) fn of_url(url: &Url, hides_path: bool) -> Vec<String> {
    let mut hidden = Vec::new();
    if let Some(query) = url.query() {
        hidden.extend(read(query));
        for pair in query.split('&') {
            // A piece without a name may be a secret itself.
            let value = pair.split_once('=').map_or(pair, |(_, value)| value);
            hidden.extend(read(value));
        }
        // In forms a plus is a space.
        let values = form_urlencoded::parse(query.as_bytes());
        hidden.extend(values.map(|(_, value)| value.into_owned()));
    }
    if hides_path {
        hidden.extend(read(url.path()));
        hidden.extend(url.path().split('/').flat_map(read));
    }
    // A path is a slash at least, which stands in many a text.
    hidden.retain(|text| !matches!(&**text, "" | "/"));
    hidden
}

/// A piece as it is, and without escapes.
fn read(text: &str) -> [String; 2] {
    let decoded = percent_decode_str(text).decode_utf8_lossy();
    [text.to_owned(), decoded.into_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(url: &str, hides_path: bool) -> Vec<String> {
        let mut hidden = of_url(&Url::parse(url).unwrap(), hides_path);
        hidden.sort();
        hidden.dedup();
        hidden
    }

    #[test]
    fn a_query_is_hidden_as_a_whole_and_by_its_values_however_they_are_read() {
        let expected = ["a=%31+2&b=&c", "a=1+2&b=&c", "%31+2", "1+2", "1 2", "c"];
        let mut expected = expected.map(str::to_owned);
        expected.sort();
        assert_eq!(hidden("https://h/p?a=%31+2&b=&c", false), expected);
        assert!(hidden("https://h/p", false).is_empty());
    }

    #[test]
    fn a_path_is_hidden_with_its_parts_if_it_is_a_secret() {
        let expected = ["/T0/%61b", "/T0/ab", "T0", "%61b", "ab"];
        let mut expected = expected.map(str::to_owned);
        expected.sort();
        assert_eq!(hidden("https://h/T0/%61b", true), expected);
        assert!(hidden("https://h/", true).is_empty());
    }
}
