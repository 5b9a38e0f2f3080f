//! Taking a text out of the frame in which a prompt showed it.

/// The text of a snippet's line without what the snippet put around it: the
/// dash, the quotes with their escapes, and the mark and day behind it. Any
/// other text stays as it is.
#[must_use]
pub fn unframed(line: &str) -> String {
    let line = line.trim();
    let bare = line.strip_prefix("- ").unwrap_or(line);
    let bare = match bare.rfind(" (") {
        Some(mark) if bare.starts_with('"') && bare.ends_with(')') => &bare[..mark],
        _ => bare,
    };
    let Some(quoted) = bare
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return bare.to_owned();
    };
    let mut text = String::with_capacity(quoted.len());
    let mut escaped = false;
    for c in quoted.chars() {
        if c == '\\' && !escaped {
            escaped = true;
            continue;
        }
        escaped = false;
        text.push(c);
    }
    text
}

/// The sentences and lines of a text. A dot within a number, a name or an
/// address ends none.
#[must_use]
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((place, c)) = characters.next() {
        let ends = match c {
            '\n' | '。' => true,
            '.' | '!' | '?' | ';' => characters
                .peek()
                .is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if ends {
            let end = place + c.len_utf8();
            found.push(text[start..end].trim());
            start = end;
        }
    }
    found.push(text[start..].trim());
    found.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_snippet_is_the_text_that_it_shows() {
        for (line, text) in [
            (
                "- \"Jordan likes tea\" (verified, 2026-12-01)",
                "Jordan likes tea",
            ),
            ("\"say \\\"hi\\\" \\\\\" (2026-12-01)", "say \"hi\" \\"),
            ("- plan: Pro", "plan: Pro"),
            ("Jordan likes tea (green)", "Jordan likes tea (green)"),
            ("\"Jordan likes tea\"", "Jordan likes tea"),
            ("", ""),
        ] {
            assert_eq!(unframed(line), text);
        }
    }

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        assert_eq!(
            sentences("Jordan pays 3.50. Is it v1.2?  Yes\n- no; \n."),
            ["Jordan pays 3.50.", "Is it v1.2?", "Yes", "- no;"]
        );
    }
}
