//! System clock and calendar. Knows no zone but UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the time by the system clock, in milliseconds since 1970.
pub fn now() -> u64 {
    millis(SystemTime::now())
}

/// Converts a time to milliseconds since 1970.
pub fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Converts milliseconds since 1970 to a time, capped at the latest one that can be formatted.
pub fn system_time(millis: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or_else(|| UNIX_EPOCH + Duration::from_secs(1 << 40))
}

/// Formats milliseconds since 1970 by RFC 3339: `2026-01-31T09:30:00.250Z`.
pub fn rfc3339(millis: u64) -> String {
    let (seconds, rest) = (millis / 1000, millis % 1000);
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z")
}

/// Converts days since 1970 to year, month and day. Howard Hinnant's `civil_from_days`.
pub fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// Parses a time by RFC 3339 in UTC to milliseconds since 1970; the time of day is optional.
pub fn parse(text: &str) -> Option<u64> {
    let (day, clock) = text.split_once('T').unwrap_or((text, "00:00:00Z"));
    let mut parts = day.split('-');
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (year, month, day) = (number()?, number()?, number()?);
    let clock = clock.strip_suffix('Z')?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':');
    let mut number = |below: u64| parts.next()?.parse::<u64>().ok().filter(|&number| number < below);
    let seconds = number(24)? * 3600 + number(60)? * 60 + number(60)?;
    let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let days = (1970..=9999).contains(&year).then(|| days_of((year, month, day)))??;
    Some((days * 86_400 + seconds) * 1000 + millis)
}

/// Converts a date to days since 1970.
fn days_of(wanted: (u64, u64, u64)) -> Option<u64> {
    let first = (wanted.0 - 1970) * 365; // leap days come after it
    let near = first + (wanted.1.checked_sub(1)? * 28);
    (near..near + 2_100).find(|&day| date(day) == wanted)
}
