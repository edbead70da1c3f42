//! Times as programs and people write them.

use std::time::Duration;

use superstep_base::time;
pub(crate) use superstep_base::time::now;

/// Parses a span of time: a number with s, m, h or d.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration: write a number with s, m, h or d, for example 30d");
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let number: u64 = text[..split].parse().map_err(|_| wrong())?;
    let seconds = match &text[split..] {
        "s" => Some(number),
        "m" => number.checked_mul(60),
        "h" => number.checked_mul(3600),
        "d" => number.checked_mul(86_400),
        _ => None,
    };
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// Parses a time to milliseconds since 1970: `2026-01-31`, `2026-01-31T09:30:00Z`, or a span before now, as `2h`.
pub(crate) fn moment(text: &str) -> Result<u64, String> {
    if let Ok(ago) = span(text) {
        return Ok(now().saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)));
    }
    time::parse(text).ok_or_else(|| {
        format!("`{text}` is not a time: write 2026-01-31, 2026-01-31T09:30:00Z, or an age such as 2h or 30d")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use superstep_base::time::rfc3339;

    #[rstest::rstest]
    #[case(0, "1970-01-01T00:00:00.000Z")]
    #[case(951_782_399_999, "2000-02-28T23:59:59.999Z")]
    #[case(1_798_761_599_250, "2026-12-31T23:59:59.250Z")]
    fn times_are_written_by_the_standard(#[case] millis: u64, #[case] text: &str) {
        assert_eq!(rfc3339(millis), text);
        assert_eq!(moment(text), Ok(millis));
    }

    #[rstest::rstest]
    #[case("2024-02-29", Some(1_709_164_800_000))]
    #[case("2026-01-31T09:30:00Z", Some(1_769_851_800_000))]
    #[case("2026-02-29", None)]
    #[case("2026-13-01", None)]
    #[case("2026-01-31T24:00:00Z", None)]
    #[case("2026-01-31T09:30:00+01:00", None)]
    #[case("yesterday", None)]
    fn times_are_read_by_the_standard(#[case] text: &str, #[case] millis: Option<u64>) {
        assert_eq!(moment(text).ok(), millis);
    }
}
