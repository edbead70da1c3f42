//! Times on the wire: RFC 3339 with microseconds and an offset, as the clients parse them.
//!
//! Small because the clock is that of the engine.

use superstep_base::time::rfc3339;

/// Returns milliseconds since 1970 as text: `2026-01-31T09:30:00.250000+00:00`.
pub(crate) fn time_text(millis: u64) -> String {
    let text = rfc3339(millis);
    let (seconds, fraction) = text.trim_end_matches('Z').split_once('.').unwrap_or((text.trim_end_matches('Z'), "0"));
    format!("{seconds}.{fraction:0<6}+00:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_microseconds_and_an_offset() {
        assert_eq!(time_text(1_769_851_800_250), "2026-01-31T09:30:00.250000+00:00");
        assert_eq!(time_text(1_769_851_800_000), "2026-01-31T09:30:00.000000+00:00");
    }
}
