//! The topic of Kafka that a message goes to: made of a template, and checked as a broker would.

use outbox_message::Topic;
use outbox_publisher::{Template, TemplateField};

/// The longest name of a topic, in bytes.
const MAX_BYTES: usize = 249;

/// The name of the topic for messages of `topic`; `None` if no broker would take it.
pub(crate) fn name(template: &Template, topic: &Topic) -> Option<String> {
    let name = template.of_topic(topic);
    is_name(&name).then_some(name)
}

/// Why a template makes no topics, if it does not.
pub(crate) fn problem(template: &Template) -> Option<&'static str> {
    let uses = |field| template.uses(field);
    if uses(TemplateField::Key) || uses(TemplateField::Id) {
        return Some("only {topic} can stand in it; the key of a message is the key of its record");
    }
    let example = template.fill(|_| "x");
    (!is_name(&example)).then_some(
        "a name has 1 to 249 letters of ASCII, digits, dots, underscores and hyphens, and is not . or ..",
    )
}

fn is_name(name: &str) -> bool {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=MAX_BYTES).contains(&name.len())
        && name.chars().all(is_legal)
        && name != "."
        && name != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(template: &str, topic: &str) -> Option<String> {
        name(&template.parse().unwrap(), &Topic::new(topic).unwrap())
    }

    #[test]
    fn a_topic_is_put_in_as_it_is() {
        for (template, topic, expected) in [
            ("{topic}", "orders.created", "orders.created"),
            ("shop.{topic}-v1", "a_b", "shop.a_b-v1"),
            ("fixed", "a b", "fixed"),
            ("{topic}", "...", "..."),
        ] {
            assert_eq!(of(template, topic).as_deref(), Some(expected));
        }
        assert_eq!(
            of("{topic}", &"x".repeat(249)).map(|name| name.len()),
            Some(249)
        );
    }

    #[test]
    fn what_no_broker_takes_as_a_name_is_none() {
        for topic in ["a b", "a/b", "a:b", "é", ".", "..", "a{b"] {
            assert_eq!(of("{topic}", topic), None, "{topic}");
        }
        assert_eq!(of("{topic}", &"x".repeat(250)), None);
    }

    #[test]
    fn a_template_that_makes_no_names_says_why() {
        let problem = |template: &str| problem(&template.parse().unwrap());
        assert_eq!(problem("shop.{topic}"), None);
        assert_eq!(problem("fixed"), None);
        for template in ["{topic}.{key}", "{id}"] {
            assert!(
                problem(template).unwrap().contains("only {topic}"),
                "{template}"
            );
        }
        for template in ["", "a b", "a/{topic}", ".", "{{{topic}}}"] {
            assert!(problem(template).unwrap().contains("249"), "{template}");
        }
    }
}
