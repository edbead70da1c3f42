//! Server-sent events: splits streamed bytes into the data of events. Pure, bounded. WHATWG: event stream
//! interpretation.

/// Maximum size of an event in bytes.
const LARGEST: usize = 8 * 1024 * 1024;

/// Error: an event exceeds the maximum size.
#[derive(Debug)]
pub(super) struct TooLarge;

#[derive(Debug, Default)]
pub(super) struct EventReader {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    /// Set if the last byte was a CR; an LF right after it belongs to the same line end.
    after_cr: bool,
    has_started: bool,
}

impl EventReader {
    /// Adds bytes and returns the data of the events that end in them.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<String>, TooLarge> {
        let mut events = Vec::new();
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| [b'\n', b'\r'].contains(byte)) {
            self.line.extend_from_slice(&bytes[..end]);
            let (is_cr, rest) = (bytes[end] == b'\r', &bytes[end + 1..]);
            self.after_cr = is_cr && rest.is_empty();
            bytes = if is_cr { rest.strip_prefix(b"\n").unwrap_or(rest) } else { rest };
            events.extend(self.end_line());
        }
        self.line.extend_from_slice(bytes);
        match self.line.len() + self.data.as_ref().map_or(0, Vec::len) > LARGEST {
            true => Err(TooLarge),
            false => Ok(events),
        }
    }

    /// Returns the event at the end of the stream, for servers that omit the last empty line.
    pub(super) fn finish(&mut self) -> Option<String> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_line()
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let line = match std::mem::replace(&mut self.has_started, true) {
            true => &line[..],
            false => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line),
        };
        if line.is_empty() {
            return self.data.take().map(|data| String::from_utf8_lossy(&data).into_owned());
        }
        // Comments and other fields are ignored.
        if let Some(value) = field(line, b"data") {
            let data = self.data.get_or_insert_default();
            if !data.is_empty() {
                data.push(b'\n');
            }
            data.extend_from_slice(value);
        }
        None
    }
}

fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = match line.strip_prefix(name)? {
        [] => return Some(&[]),
        [b':', value @ ..] => value,
        _ => return None,
    };
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str =
        "\u{feff}: hello\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nevent: x\nid: 7\ndata:größe\n\n:\r\rdata: [DONE]\r\r";

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        for size in 1..STREAM.len() {
            let mut reader = EventReader::default();
            let events: Vec<String> =
                STREAM.as_bytes().chunks(size).flat_map(|piece| reader.push(piece).expect("small")).collect();
            assert_eq!(events, ["{\"a\":\n1}", "größe", "[DONE]"], "pieces of {size}");
            assert_eq!(reader.finish(), None);
        }
    }

    #[test]
    fn the_end_of_the_stream_ends_an_event() {
        let mut reader = EventReader::default();
        assert!(reader.push(b"data: x").expect("small").is_empty());
        assert_eq!(reader.finish().as_deref(), Some("x"));
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut reader = EventReader::default();
        let piece = vec![b'x'; LARGEST / 4 + 1];
        assert!((0..4).any(|_| reader.push(&piece).is_err()));
    }
}
