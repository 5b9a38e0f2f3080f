//! Keys of a table that nobody knows, told with the key that was meant: serde
//! only lists all of them.

/// The first key below `table` that is not known, in words; `tables` are those
/// keys whose own keys are looked at, and `open` those whose keys are anything.
pub(crate) fn unknown(
    table: &toml::Table,
    known: &[&str],
    tables: &[&str],
    open: &[&str],
) -> Option<String> {
    below("", table, known, tables, open)
}

fn below(
    outer: &str,
    table: &toml::Table,
    known: &[&str],
    tables: &[&str],
    open: &[&str],
) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let key = match outer {
            "" => key.clone(),
            outer => format!("{outer}.{key}"),
        };
        match value {
            toml::Value::Table(_) if open.contains(&key.as_str()) => None,
            toml::Value::Table(inner) if tables.contains(&key.as_str()) => {
                below(&key, inner, known, tables, open)
            }
            _ if tables.contains(&key.as_str()) || open.contains(&key.as_str()) => Some(format!(
                "`{key}` is a table: write its keys below `[{key}]`, or in braces"
            )),
            _ if known.contains(&key.as_str()) => None,
            _ => Some(unknown_key(&key, known, tables, open)),
        }
    })
}

fn unknown_key(key: &str, known: &[&str], tables: &[&str], open: &[&str]) -> String {
    let all = || known.iter().chain(tables).chain(open);
    let likeness = |known: &&&str| strsim::jaro_winkler(known, key);
    let nearest = all().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let suggestion = match nearest {
        Some(nearest) if strsim::jaro_winkler(nearest, key) > 0.8 => {
            format!("did you mean `{nearest}`?")
        }
        _ => {
            let all: Vec<_> = all().copied().collect();
            format!("known keys are {}", all.join(", "))
        }
    };
    format!("unknown key `{key}`; {suggestion}")
}
