//! The one text of a value: members sorted by name, nothing but ASCII, no white space. Values that are equal have the same, and
//! it is what the reference encrypts. A whole value is held at once, in one list without nesting, so that nothing recurses.

use super::{Reader, Value, last_wins, string};
use crate::{MAX_DEPTH, Malformed};

/// A value. What it holds stands elsewhere in the list.
enum Node {
    Scalar(Value),
    Array(Vec<usize>),
    Object(Vec<(String, usize)>),
}

/// An array or object whose end has not been met yet, and the name of the member that is being read.
struct Open {
    node: usize,
    name: String,
}

/// The canonical text of the value that `text` is, but for white space around it. It stands inside `outer` containers.
pub(crate) fn canonical(text: &str, outer: usize) -> Result<String, Malformed> {
    let mut reader = Reader::new(text);
    reader.skip_space();
    let (nodes, root) = read(&mut reader, outer)?;
    reader.skip_space();
    reader.end()?;
    Ok(write(&nodes, root))
}

fn read(reader: &mut Reader<'_>, outer: usize) -> Result<(Vec<Node>, usize), Malformed> {
    let mut nodes = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    loop {
        if matches!(reader.peek(), Some(b'[' | b'{')) && outer + open.len() == MAX_DEPTH {
            return Err(reader.malformed("nesting is too deep"));
        }
        let node = nodes.len();
        if reader.eat(b'[') {
            nodes.push(Node::Array(Vec::new()));
            reader.skip_space();
            if !reader.eat(b']') {
                let name = String::new();
                open.push(Open { node, name });
                continue;
            }
        } else if reader.eat(b'{') {
            nodes.push(Node::Object(Vec::new()));
            reader.skip_space();
            if !reader.eat(b'}') {
                let name = reader.name()?.into_owned();
                open.push(Open { node, name });
                continue;
            }
        } else {
            nodes.push(Node::Scalar(reader.scalar()?));
        }
        if let Some(root) = close(reader, &mut nodes, &mut open, node)? {
            return Ok((nodes, root));
        }
    }
}

/// After the complete value `node`: puts it where it belongs and ends the containers that end here. The outermost, if none is
/// left; if not, another value follows.
fn close(
    reader: &mut Reader<'_>,
    nodes: &mut [Node],
    open: &mut Vec<Open>,
    mut node: usize,
) -> Result<Option<usize>, Malformed> {
    while let Some(innermost) = open.last_mut() {
        reader.skip_space();
        let goes_on = reader.eat(b',');
        match &mut nodes[innermost.node] {
            Node::Array(items) => {
                items.push(node);
                if !goes_on {
                    reader.expect(b']', "expected a comma or the end of the array")?;
                }
            }
            Node::Object(members) => {
                members.push((std::mem::take(&mut innermost.name), node));
                if goes_on {
                    reader.skip_space();
                    innermost.name = reader.name()?.into_owned();
                } else {
                    reader.expect(b'}', "expected a comma or the end of the object")?;
                    let mut sorted = last_wins(std::mem::take(members));
                    sorted.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
                    *members = sorted;
                }
            }
            Node::Scalar(_) => unreachable!("only what holds others is open"),
        }
        if goes_on {
            reader.skip_space();
            return Ok(None);
        }
        node = innermost.node;
        open.pop();
    }
    Ok(Some(node))
}

/// What is still to be written.
enum Step<'n> {
    Node(usize),
    Name(&'n str),
    Mark(char),
}

fn write(nodes: &[Node], root: usize) -> String {
    let mut out = String::new();
    let mut steps = vec![Step::Node(root)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Mark(mark) => out.push(mark),
            Step::Name(name) => {
                string::write_ascii(name, &mut out);
                out.push(':');
            }
            Step::Node(node) => match &nodes[node] {
                Node::Scalar(Value::String(text)) => string::write_ascii(text, &mut out),
                Node::Scalar(scalar) => scalar.write(&mut out),
                Node::Array(items) => {
                    out.push('[');
                    steps.push(Step::Mark(']'));
                    for (place, item) in items.iter().enumerate().rev() {
                        steps.push(Step::Node(*item));
                        steps.extend((place > 0).then_some(Step::Mark(',')));
                    }
                }
                Node::Object(members) => {
                    out.push('{');
                    steps.push(Step::Mark('}'));
                    for (place, (name, value)) in members.iter().enumerate().rev() {
                        steps.extend([Step::Node(*value), Step::Name(name)]);
                        steps.extend((place > 0).then_some(Step::Mark(',')));
                    }
                }
            },
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_text() {
        for (text, expected) in [
            (
                " {\"b\" : [1.50, -0 ,{ }, []],\"a\":\"\\u0041\\/\"} ",
                r#"{"a":"A/","b":[1.5,0,{},[]]}"#,
            ),
            (
                r#"{"é":"😀","z":"\u007f\n","a":{"c":1,"b":2,"c":3}}"#,
                r#"{"a":{"b":2,"c":3},"z":"\u007f\n","\u00e9":"\ud83d\ude00"}"#,
            ),
            ("null", "null"),
            ("true", "true"),
            ("1e400", "1e400"),
        ] {
            assert_eq!(canonical(text, 0).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn depth_is_limited_and_costs_no_stack() {
        let deep = |depth: usize| "[{\"a\":".repeat(depth / 2) + "0" + &"}]".repeat(depth / 2);
        let deepest = deep(MAX_DEPTH);
        assert_eq!(canonical(&deepest, 0).unwrap(), deepest);
        assert!(canonical(&deepest, 1).is_err());
        assert!(canonical(&"[".repeat(100_000), 0).is_err());
        for text in ["", "[", "[1,]", "{\"a\":1", "{\"a\":1,}", "[1]]", "{1:2}"] {
            assert!(canonical(text, 0).is_err(), "{text}");
        }
    }
}
