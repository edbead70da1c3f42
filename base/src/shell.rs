//! Text for shells and terminals.

/// Quotes a word for a shell, where that is needed; control characters are escaped, so that a terminal only shows them.
///
/// ```
/// # use superstep_base::shell::shell_word;
/// assert_eq!(shell_word("the tides"), "'the tides'");
/// ```
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,#".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with(['#', '-', '=']) {
        return word.to_owned();
    }
    if word.chars().any(needs_escape) {
        return format!("$'{}'", word.chars().map(escape_char).collect::<String>());
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Escapes a character as bash and zsh read it between `$'` and `'`.
fn escape_char(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if needs_escape(c) => c.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        c => c.to_string(),
    }
}

/// Returns true if a terminal may do something other than show it.
pub fn needs_escape(c: char) -> bool {
    c.is_control() || is_unseen(c)
}

/// Returns true if a character is invisible: it turns the direction of writing, joins or separates others, breaks
/// lines, fills, or is a tag. It can make one name look like another.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' |
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' |
        '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{3164}' | '\u{ffa0}' |
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("essay-1", "essay-1")]
    #[case("an essay", "'an essay'")]
    #[case("it's", r"'it'\''s'")]
    #[case("", "''")]
    #[case("-x", "'-x'")]
    #[case("=x", "'=x'")]
    #[case("a\u{1b}[2J", r"$'a\x1b[2J'")]
    #[case("it's\u{202e}", r"$'it\'s\xe2\x80\xae'")]
    fn words_survive_a_shell(#[case] word: &str, #[case] written: &str) {
        assert_eq!(shell_word(word), written);
    }
}
