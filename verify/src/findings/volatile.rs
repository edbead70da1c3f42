//! Words and numbers that change with every run: hashes, UUIDs, dates, times of day, durations, addresses.

/// The length of a UUID.
pub(super) const UUID: usize = 36;
/// The minimum length of a hash: git's abbreviation.
const SHORTEST: usize = 7;
/// The length from which one digit among letters makes a hexadecimal word a hash.
const LONG: usize = 16;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns the length in bytes of the word at the start of the text.
pub(super) fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// Returns whether the text starts with a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    let Some(text) = text.as_bytes().get(..UUID) else { return false };
    text.iter().enumerate().all(|(nth, byte)| match nth {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// Returns whether the word is a hash: hexadecimal, with letters and digits alternating, or long. `facade1` is a name.
pub(super) fn is_hash(word: &str) -> bool {
    let word = word.strip_prefix('h').filter(|rest| rest.len() == LONG).unwrap_or(word);
    if word.len() < SHORTEST || !word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return false;
    }
    let kinds = word.as_bytes().windows(2);
    let turns = kinds.filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    turns >= if word.len() < LONG { 2 } else { 1 }
}

/// Returns whether the word is the name of a day or month that a date follows.
pub(super) fn is_date(word: &str, after: &str) -> bool {
    let next = after.trim_start_matches([',', ' ']);
    let goes_on = |next: &str| next.starts_with(|c: char| c.is_ascii_digit());
    let named = |next: &str| MONTHS.iter().any(|month| next.starts_with(month));
    if after.len() == next.len() {
        return false;
    }
    (MONTHS.contains(&word) && goes_on(next)) || (DAYS.contains(&word) && (goes_on(next) || named(next)))
}

/// Units of durations.
const TIMES: [&str; 13] = ["ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "m", "min", "mins", "h", "hrs"];
/// Units of durations in words.
const UNITS: [&str; 10] =
    ["microseconds", "millisecond", "milliseconds", "second", "seconds", "minute", "minutes", "hour", "hours", "days"];
/// Suffixes that may follow a number: units of sizes, and the types of Rust's literals.
const SUFFIXES: [&str; 32] = [
    "B", "K", "M", "G", "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB", "k", "px", "x", "th", "st", "nd", "rd", "u8",
    "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
];

/// A piece of text that starts with a digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number<'a> {
    /// A time, a date, a duration or an address, with its length in bytes.
    Volatile(usize),
    /// A number, with its number of digits, its length in bytes, and its suffix.
    Plain { digits: usize, length: usize, suffix: &'a str },
    /// An identifier or a code, with its length in bytes.
    Word(usize),
}

pub(super) fn read(text: &str) -> Number<'_> {
    let moment = date(text).or_else(|| clock(text)).or_else(|| address(text)).or_else(|| duration(text));
    moment.map_or_else(|| plain(text), Number::Volatile)
}

/// Returns the length in bytes of the date or time of day at the start of a text: `2026-11-25T12:00:01Z`, `12:00:01`,
/// `Nov 25 12:00:01`.
pub(super) fn time_length(text: &str) -> Option<usize> {
    date(text).or_else(|| clock(text)).or_else(|| day_and_clock(text))
}

fn day_and_clock(text: &str) -> Option<usize> {
    let month = text.get(..3).filter(|month| is_date(month, &text[3..]))?.len();
    let rest = text[month..].trim_start_matches(' ');
    let rest = rest[digits(rest)..].strip_prefix(' ')?;
    Some(text.len() - rest.len() + clock(rest)?)
}

fn plain(text: &str) -> Number<'_> {
    let number = numeral(text);
    let rest = &text[number..];
    let suffix = &rest[..word_length(rest)];
    let length = number + suffix.len();
    if suffix.is_empty() || SUFFIXES.contains(&suffix) {
        let digits = text[..number].bytes().filter(u8::is_ascii_digit).count();
        return Number::Plain { digits, length, suffix };
    }
    if is_exponent(suffix, &rest[suffix.len()..]) {
        return Number::Volatile(length + exponent(&rest[suffix.len()..], suffix));
    }
    let whole = word_length(text);
    if is_hash(&text[..whole]) { Number::Volatile(whole) } else { Number::Word(length.max(whole)) }
}

/// Returns the length in bytes of digits with separators: `1`, `1.5`, `1_000`, `1,000`, `127.0.0.1`.
fn numeral(text: &str) -> usize {
    let mut at = digits(text);
    loop {
        let group = match text.as_bytes().get(at) {
            Some(b'.' | b'_') => digits(&text[at + 1..]),
            Some(b',') => Some(digits(&text[at + 1..])).filter(|group| *group == 3).unwrap_or(0),
            _ => 0,
        };
        if group == 0 {
            return at;
        }
        at += 1 + group;
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn is_exponent(suffix: &str, after: &str) -> bool {
    let Some(power) = suffix.strip_prefix(['e', 'E']) else { return false };
    let signed = power.is_empty() && after.strip_prefix(['-', '+']).is_some_and(|power| digits(power) > 0);
    signed || (!power.is_empty() && digits(power) == power.len())
}

fn exponent(after: &str, suffix: &str) -> usize {
    if suffix.len() > 1 { 0 } else { 1 + digits(&after[1..]) }
}

/// Returns the length of `0x7f12`.
fn address(text: &str) -> Option<usize> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let length = word_length(hex);
    (length > 0 && hex[..length].bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(2 + length)
}

/// Returns the length of `1.2s` or `1m30s`.
fn duration(text: &str) -> Option<usize> {
    let mut at = 0;
    while text[at..].starts_with(|c: char| c.is_ascii_digit()) {
        let number = numeral(&text[at..]);
        let rest = &text[at + number..];
        let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        if !TIMES.contains(&&rest[..letters]) {
            return None;
        }
        at += number + letters;
    }
    (!text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(at)
}

/// Returns the length of a duration's unit after its number: ` ms`, ` seconds`.
pub(super) fn unit(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(' ') else { return 0 };
    let word = &rest[..word_length(rest)];
    let is_unit = UNITS.contains(&word) || TIMES.contains(&word) && word.len() > 1 || word == "s";
    if is_unit { 1 + word.len() } else { 0 }
}

/// Returns the length of `2026-11-23`, with the time of day after it, if any.
fn date(text: &str) -> Option<usize> {
    let day = shape(text, "dddd-dd-dd").or_else(|| shape(text, "dddd/dd/dd"))?;
    let time = text[day..].strip_prefix(['T', ' ']).and_then(clock).map_or(0, |time| 1 + time);
    Some(day + time).filter(|end| !text[*end..].starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the length of `17:05:01.123Z` or `17:05:01+02:00`.
fn clock(text: &str) -> Option<usize> {
    let mut at = shape(text, "dd:dd:dd").or_else(|| shape(text, "d:dd:dd"))?;
    at += fraction(&text[at..]);
    let zone = &text[at..];
    at += shape(zone, "Z").or_else(|| offset(zone)).unwrap_or(0);
    (!text[at..].starts_with(|c: char| c.is_alphanumeric())).then_some(at)
}

fn fraction(text: &str) -> usize {
    text.strip_prefix(['.', ',']).map_or(0, digits).checked_sub(1).map_or(0, |more| more + 2)
}

fn offset(text: &str) -> Option<usize> {
    text.starts_with(['+', '-'])
        .then(|| shape(&text[1..], "dd:dd").or_else(|| shape(&text[1..], "dddd")))?
        .map(|length| length + 1)
}

/// Returns the length of `shape` if the text starts with it; `d` is a digit.
fn shape(text: &str, shape: &str) -> Option<usize> {
    let begin = text.as_bytes().get(..shape.len())?;
    let fits = |(byte, wanted): (&u8, u8)| if wanted == b'd' { byte.is_ascii_digit() } else { *byte == wanted };
    begin.iter().zip(shape.bytes()).all(fits).then_some(shape.len())
}
