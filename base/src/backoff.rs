//! Growing pauses between repetitions. Knows no clock and no random numbers.

use std::time::Duration;

/// Returns the pause before a repetition: `first` before the first one (0), multiplied by `factor` for each after it, at most
/// `longest`.
pub fn backoff(first: Duration, factor: f64, repetition: u32, longest: Duration) -> Duration {
    let grown = first.as_secs_f64() * factor.powi(repetition.min(64).cast_signed());
    Duration::try_from_secs_f64(grown).unwrap_or(longest).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(30);

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let pauses = [0, 1, 2, 5, 6, u32::MAX].map(|nth| backoff(Duration::from_millis(500), 2.0, nth, LONGEST));
        assert_eq!(pauses.map(|pause| pause.as_millis()), [500, 1000, 2000, 16_000, 30_000, 30_000]);
    }

    #[test]
    fn no_factor_makes_a_pause_negative_or_endless() {
        assert_eq!(backoff(LONGEST, -2.0, 1, LONGEST), LONGEST);
        assert_eq!(backoff(Duration::MAX, f64::INFINITY, 3, LONGEST), LONGEST);
    }
}
