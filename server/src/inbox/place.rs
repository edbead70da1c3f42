//! Places of items: in the order of the times since which they wait, and as the cursors of pages. Knows no thread's records.

use std::fmt;
use std::str::FromStr;

use superstep::checkpoint::ThreadId;
use superstep::graph::InterruptId;

use crate::error::ApiError;
use crate::records::items::key_part;

/// Place of an item. Places are sorted by time, then by thread, then by question; an answer changes the place of no other item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItemPlace {
    /// The time since which it waits, in milliseconds since 1970.
    pub since: u64,
    pub thread: ThreadId,
    /// None for an item that is no question.
    pub question: Option<InterruptId>,
}

impl fmt::Display for ItemPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let question = self.question.map(|id| id.to_string()).unwrap_or_default();
        write!(f, "{}.{question}.{}", self.since, key_part(self.thread.as_str()))
    }
}

impl FromStr for ItemPlace {
    type Err = ApiError;

    fn from_str(cursor: &str) -> Result<Self, ApiError> {
        let wrong = || ApiError::invalid("`after` is no cursor: give the `next` of the page before");
        let mut parts = cursor.splitn(3, '.');
        let mut part = || parts.next().ok_or_else(wrong);
        let since = part()?.parse().map_err(|_| wrong())?;
        let question = match part()? {
            "" => None,
            id => Some(id.parse().map_err(|_| wrong())?),
        };
        let thread = percent_encoding::percent_decode_str(part()?).decode_utf8().map_err(|_| wrong())?;
        Ok(Self { since, thread: ThreadId::from(&*thread), question })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("t", None)]
    #[case("a.b/ü %", Some("35b63513-3-a-0"))]
    #[case("", Some("00000001-12-0-2"))]
    fn a_cursor_is_read_as_it_was_written(#[case] thread: &str, #[case] question: Option<&str>) {
        let question = question.map(|id| id.parse().unwrap());
        let place = ItemPlace { since: 1_769_851_800_250, thread: ThreadId::from(thread), question };
        assert_eq!(place.to_string().parse::<ItemPlace>().unwrap(), place);
    }

    #[rstest]
    #[case("")]
    #[case("5")]
    #[case("5.")]
    #[case("x..t")]
    #[case("5.x.t")]
    #[case("5..%ff")]
    fn a_text_that_is_no_cursor_is_refused(#[case] text: &str) {
        assert!(text.parse::<ItemPlace>().is_err());
    }
}
