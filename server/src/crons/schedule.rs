//! Dates of a schedule in a time zone. Knows no store and no run.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::error::{ApiError, ApiResult};
use crate::records::cron::CronRecord;

/// Schedule of five fields: minute, hour, day, month, day of the week.
#[derive(Debug)]
pub(crate) struct Schedule {
    cron: Cron,
    zone: TimeZone,
}

impl Schedule {
    /// Reads a schedule, in UTC unless a time zone is named.
    ///
    /// # Errors
    /// 422 with the reason.
    pub(crate) fn parse(text: &str, timezone: Option<&str>) -> ApiResult<Self> {
        let zone = match timezone {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|_| {
                ApiError::invalid(format!("there is no time zone `{name}`: name one such as `Europe/Berlin`"))
            })?,
        };
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(text).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.trim_end_matches('.');
            ApiError::invalid(format!(
                "the schedule `{text}` cannot be read: {reason}; five fields are expected, such as `0 9 * * 1-5`"
            ))
        })?;
        Ok(Self { cron, zone })
    }

    /// Returns the first date after a time; both in milliseconds since 1970. `None` if there is none.
    pub(crate) fn next_after(&self, millis: u64) -> Option<u64> {
        let time = Timestamp::from_millisecond(i64::try_from(millis).ok()?).ok()?;
        let next: Zoned = self.cron.find_next_occurrence(&time.to_zoned(self.zone.clone()), false).ok()?;
        u64::try_from(next.timestamp().as_millisecond()).ok()
    }
}

/// Returns the first date of a cron after a time; `None` if it is disabled, has ended or cannot be read.
pub(crate) fn next_date(cron: &CronRecord, millis: u64) -> Option<u64> {
    let schedule = Schedule::parse(&cron.schedule, cron.timezone.as_deref()).ok()?;
    let next = schedule.next_after(millis).filter(|_| cron.is_enabled)?;
    cron.end_time.is_none_or(|end| next <= end).then_some(next)
}

/// Reads a time by RFC 3339; one without an offset is in UTC.
///
/// # Errors
/// 422 if it is no time after 1970.
pub(crate) fn parse_time(text: &str) -> ApiResult<u64> {
    let local = |_| text.parse::<DateTime>().and_then(|time| time.to_zoned(TimeZone::UTC)).map(|time| time.timestamp());
    let time = text.parse::<Timestamp>().or_else(local).ok();
    let millis = time.and_then(|time| u64::try_from(time.as_millisecond()).ok());
    millis.ok_or_else(|| {
        ApiError::invalid(format!("`{text}` is no time: one such as `2026-01-31T09:30:00Z` is expected"))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::records::time::time_text;

    #[rstest]
    #[case::minutes("*/5 * * * *", None, "2026-01-31T09:31:00Z", "2026-01-31T09:35:00.000000+00:00")]
    #[case::strictly_after("30 9 * * *", None, "2026-01-31T09:30:00Z", "2026-02-01T09:30:00.000000+00:00")]
    #[case::a_zone("0 9 * * *", Some("Europe/Berlin"), "2026-01-31T00:00:00Z", "2026-01-31T08:00:00.000000+00:00")]
    #[case::in_summer("0 9 * * *", Some("Europe/Berlin"), "2026-07-31T00:00:00", "2026-07-31T07:00:00.000000+00:00")]
    #[case::the_hour_that_is_not(
        "30 2 29 3 *",
        Some("Europe/Berlin"),
        "2026-03-28T00:00:00+00:00",
        "2026-03-29T01:00:00.000000+00:00"
    )]
    fn dates_follow_the_schedule_in_its_zone(
        #[case] text: &str,
        #[case] zone: Option<&str>,
        #[case] after: &str,
        #[case] next: &str,
    ) {
        let schedule = Schedule::parse(text, zone).unwrap();
        let found = schedule.next_after(parse_time(after).unwrap()).unwrap();
        assert_eq!(time_text(found), next);
    }

    #[rstest]
    #[case::seconds("0 0 9 * * *", None, "five fields")]
    #[case::a_word("often", None, "`often`")]
    #[case::a_minute("61 * * * *", None, "`61 * * * *`")]
    #[case::a_zone("0 9 * * *", Some("Middle/Earth"), "no time zone `Middle/Earth`")]
    fn a_schedule_that_cannot_be_read_is_named(#[case] text: &str, #[case] zone: Option<&str>, #[case] reason: &str) {
        let error = Schedule::parse(text, zone).unwrap_err();
        assert!(error.detail.contains(reason), "{error}");
    }

    #[test]
    fn a_date_that_never_comes_is_none() {
        assert_eq!(Schedule::parse("0 0 30 2 *", None).unwrap().next_after(0), None);
    }
}
