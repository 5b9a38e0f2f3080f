//! One line as what it brings, or what is wrong with it.

use keepsake_storage::{
    FactFlags, FactVectors, ImportedFact, NewFact, RestoredFact, RestoredProfile, RestoredValue,
};
use keepsake_types::{ResourceRef, Timestamp};
use serde_json::{Map, Value};

use super::super::export::{KIND, VERSION};
use super::lines::Line;
use super::members::{Members, Unsaid, spelled_otherwise, wrong};
use crate::output::one_line;

/// The members that a fact may have. Others are kept as its extras.
const MEMBERS: [&str; 25] = [
    "attribute",
    "content",
    "created_at",
    "expires_at",
    "extras",
    "further_sources",
    "id",
    "instruction_like",
    "masked",
    "metadata",
    "position",
    "quote",
    "resource",
    "source",
    "subject",
    "summary_of",
    "superseded_by",
    "supersedes",
    "team",
    "thread",
    "updated_at",
    "valid_from",
    "valid_until",
    "vector",
    "verification",
];

/// What a line brings, and whose it is.
#[derive(Debug)]
pub(super) enum Record {
    /// A fact from anywhere.
    Fact(ResourceRef, ImportedFact),
    /// A fact that is restored as it was: from an export, or with a source.
    Restored(ResourceRef, RestoredFact, Option<FactVectors>),
    /// A key of working memory.
    Working(ResourceRef, RestoredValue),
    /// A profile.
    Profile(ResourceRef, RestoredProfile),
    /// An export begins, or the one that began is whole.
    Bound(Bound),
}

/// The first and the last line of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Begin,
    End,
}

impl Record {
    /// Reads a line; `unsaid` is whose those are whose lines do not say it.
    pub(super) fn read(line: &Line<'_>, unsaid: &Unsaid) -> Result<Self, String> {
        let bytes = line.bytes.ok_or_else(|| {
            format!(
                "it is longer than `import-line-bytes` allows, {} bytes",
                keepsake_types::limits::IMPORT_LINE_BYTES
            )
        })?;
        let value: Value = serde_json::from_slice(bytes).map_err(not_json)?;
        let Value::Object(object) = value else {
            return Err("it is JSON, but not an object `{\"content\": …}`".to_owned());
        };
        let mut members = Members(object);
        match members.take(KIND) {
            None => fact(members, unsaid),
            Some(kind) => exported(&kind, members, unsaid),
        }
    }
}

fn not_json(error: serde_json::Error) -> String {
    // The line that serde counts is always the first of this one.
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("it is not JSON: {what}, at column {}", error.column())
}

/// A line of an export.
fn exported(kind: &Value, mut members: Members, unsaid: &Unsaid) -> Result<Record, String> {
    let told = |error: keepsake_storage::StorageError| error.to_string();
    match kind.as_str() {
        Some("export") => match members.take("version").and_then(|version| version.as_u64()) {
            Some(VERSION) => Ok(Record::Bound(Bound::Begin)),
            version => Err(format!(
                "it begins an export of form {}, and this program reads form {VERSION}: use the version that wrote it",
                version.map_or("unknown".to_owned(), |version| version.to_string())
            )),
        },
        Some("end") => Ok(Record::Bound(Bound::End)),
        Some("profile") => {
            let resource = members.resource(unsaid)?;
            let profile = RestoredProfile {
                value: members.object("value")?.ok_or("it has no `value`")?,
                updated_at: written_at(&mut members)?,
            };
            profile.check().map_err(told)?;
            Ok(Record::Profile(resource, profile))
        }
        Some("working") => {
            let resource = members.resource(unsaid)?;
            let value = RestoredValue {
                key: members.text("key")?.ok_or("it has no `key`")?,
                // Null is a value like others.
                value: members.0.remove("value").ok_or("it has no `value`")?,
                updated_at: written_at(&mut members)?,
            };
            value.check().map_err(told)?;
            Ok(Record::Working(resource, value))
        }
        Some("fact") => {
            let resource = members.resource(unsaid)?;
            let vector = members.vector()?;
            let restored = restored(members)?;
            keepsake_storage::check_restored_facts(std::slice::from_ref(&restored))
                .map_err(told)?;
            Ok(Record::Restored(resource, restored, vector))
        }
        _ => Err(wrong(
            KIND,
            "`export`, `profile`, `working`, `fact` or `end`",
            kind,
        )),
    }
}

fn written_at(members: &mut Members) -> Result<Timestamp, String> {
    members
        .time("updated_at")?
        .ok_or_else(|| "it has no `updated_at`".to_owned())
}

/// A line that is a fact from anywhere. One with a source is restored, because
/// sources from elsewhere are not here.
fn fact(mut members: Members, unsaid: &Unsaid) -> Result<Record, String> {
    let resource = members.resource(unsaid)?;
    if members.take("supersedes").is_some() {
        return Err("`supersedes` names facts by ids, which an import gives anew: say by `subject` and `attribute` what replaces what, or by `valid_until` how long it held".to_owned());
    }
    // What only an export has a meaning for is kept, and read by nothing.
    let mut kept = Map::new();
    for name in [
        "id",
        "updated_at",
        "superseded_by",
        "summary_of",
        "further_sources",
        "vector",
        "verification",
    ] {
        kept.extend(members.take(name).map(|value| (name.to_owned(), value)));
    }
    let mut restored = restored(members)?;
    if !kept.is_empty() {
        restored
            .fact
            .extras
            .get_or_insert_with(Map::new)
            .extend(kept);
    }
    let told = |error: keepsake_storage::StorageError| error.to_string();
    if restored.fact.source.is_some() {
        keepsake_storage::check_restored_facts(std::slice::from_ref(&restored)).map_err(told)?;
        return Ok(Record::Restored(resource, restored, None));
    }
    let imported = ImportedFact {
        fact: restored.fact,
        created_at: restored.created_at,
    };
    keepsake_storage::check_imported_facts(std::slice::from_ref(&imported)).map_err(told)?;
    Ok(Record::Fact(resource, imported))
}

/// A fact with all that a line can say of it.
fn restored(mut members: Members) -> Result<RestoredFact, String> {
    let until = (members.time("expires_at")?, members.time("valid_until")?);
    let expires_at = match until {
        (Some(left), Some(right)) if left != right => {
            return Err("`expires_at` and `valid_until` differ: give one".to_owned());
        }
        (left, right) => left.or(right),
    };
    // What a source is worth is found out here.
    members.take("verification");
    let mut restored = RestoredFact {
        id: members.text("id")?,
        created_at: members.time("created_at")?,
        updated_at: members.time("updated_at")?,
        superseded_by: members.text("superseded_by")?,
        summary_of: members.number("summary_of")?,
        further_sources: members.sources("further_sources")?,
        fact: NewFact {
            content: members
                .text("content")?
                .ok_or("it has no `content`, the text of the fact")?,
            metadata: members.object("metadata")?.unwrap_or_default(),
            source: members.source()?,
            quote: members.text("quote")?,
            subject: members.text("subject")?,
            attribute: members.text("attribute")?,
            supersedes: Vec::new(),
            valid_from: members.time("valid_from")?,
            expires_at,
            thread: members.text("thread")?,
            position: members.number("position")?,
            flags: FactFlags {
                instruction_like: members.flag("instruction_like")?,
                masked: members.flag("masked")?,
            },
            extras: members.object("extras")?,
        },
    };
    for (name, value) in members.0 {
        if let Some(meant) = spelled_otherwise(&name, &MEMBERS) {
            let name = one_line(&name, 60);
            return Err(format!("`{name}` is not known: write `{meant}`"));
        }
        if !value.is_null() {
            let extras = restored.fact.extras.get_or_insert_with(Map::new);
            extras.insert(name, value);
        }
    }
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(line: &str) -> Result<Record, String> {
        let jordan = Unsaid {
            resource: Some("jordan".to_owned()),
            team: None,
        };
        read_with(line, &jordan)
    }

    fn read_with(line: &str, unsaid: &Unsaid) -> Result<Record, String> {
        let line = Line {
            number: 1,
            bytes: Some(line.as_bytes()),
        };
        Record::read(&line, unsaid)
    }

    #[test]
    fn a_line_is_of_the_team_that_it_names_or_of_the_one_that_is_granted() {
        let unsaid = Unsaid {
            resource: None,
            team: Some("acme".to_owned()),
        };
        for (line, whose) in [
            (
                r#"{"resource": "robin", "content": "x"}"#,
                "robin of team acme",
            ),
            (
                r#"{"resource": "robin", "team": "other", "content": "x"}"#,
                "robin of team other",
            ),
            (r#"{"resource": "", "content": "x"}"#, "team acme"),
        ] {
            let Record::Fact(owner, _) = read_with(line, &unsaid).unwrap() else {
                panic!("{line} is a fact");
            };
            assert_eq!(owner.to_string(), whose);
        }
        for (line, unsaid, said) in [
            (r#"{"content": "x"}"#, unsaid, "in common"),
            (
                r#"{"resource": "", "content": "x"}"#,
                Unsaid::default(),
                "must not be empty",
            ),
        ] {
            let told = read_with(line, &unsaid).err().unwrap();
            assert!(told.contains(said), "{told}");
        }
    }

    #[test]
    fn a_line_with_every_member_is_that_fact() {
        let line = json!({
            "resource": "robin", "content": "tea", "metadata": { "a": 1 }, "thread": "t",
            "position": 7, "subject": "robin", "attribute": "drink", "quote": "tea",
            "source": { "session": "s", "index": 3, "hash": "ab".repeat(32) }, "created_at": 5,
            "valid_from": "1970-01-01T02:00:00.006+02:00", "expires_at": 2e1, "extras": { "x": 1 },
            "masked": true, "turn": "D1:3", "team": null,
        });
        let Record::Restored(resource, restored, None) = read(&line.to_string()).unwrap() else {
            panic!("a fact with a source is restored");
        };
        assert_eq!(resource, ResourceRef::new("robin").unwrap());
        assert_eq!(restored.created_at, Some(5));
        let fact = restored.fact;
        assert_eq!((fact.valid_from, fact.expires_at), (Some(6), Some(20)));
        assert_eq!(
            (fact.position, fact.thread.as_deref()),
            (Some(7), Some("t"))
        );
        assert_eq!(Value::Object(fact.metadata), json!({ "a": 1 }));
        assert_eq!(
            Value::Object(fact.extras.unwrap()),
            json!({ "x": 1, "turn": "D1:3" })
        );
        assert!(fact.flags.masked && !fact.flags.instruction_like);
        assert_eq!(fact.source.unwrap().index, 3);
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, said) in [
            ("tea", "not JSON: expected"),
            ("{\"content\": \"tea\"", "at column 17"),
            ("[]", "not an object"),
            ("{}", "no `content`"),
            (r#"{"content": null}"#, "no `content`"),
            (r#"{"content": 3}"#, "`content` must be a text, and is 3"),
            (r#"{"content": "  "}"#, "must not be empty"),
            (r#"{"content": "x", "resource": ""}"#, "must not be empty"),
            (
                r#"{"content": "x", "created_at": "yesterday"}"#,
                "milliseconds since 1970",
            ),
            (
                r#"{"content": "x", "created_at": -1}"#,
                "`created_at` must be a time",
            ),
            (
                r#"{"content": "x", "created_at": 1e300}"#,
                "`created_at` must be a time",
            ),
            (r#"{"content": "x", "createdAt": 1}"#, "write `created_at`"),
            (r#"{"content": "x", "valid-from": 1}"#, "write `valid_from`"),
            (r#"{"content": "x", "position": -1}"#, "whole number"),
            (
                r#"{"content": "x", "metadata": []}"#,
                "`metadata` must be an object",
            ),
            (r#"{"content": "x", "subject": "s"}"#, "given together"),
            (
                r#"{"content": "x", "supersedes": ["a"]}"#,
                "`subject` and `attribute`",
            ),
            (
                r#"{"content": "x", "source": "s"}"#,
                "`source` must be an object",
            ),
            (
                r#"{"content": "x", "valid_from": 5, "expires_at": 4}"#,
                "expire before",
            ),
            (
                r#"{"content": "x", "valid_until": 4, "expires_at": 5}"#,
                "give one",
            ),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
        let nobody = Line {
            number: 1,
            bytes: Some(br#"{"content": "x"}"#),
        };
        let error = Record::read(&nobody, &Unsaid::default()).unwrap_err();
        assert!(error.contains("--resource"), "{error}");
    }

    #[test]
    fn a_number_may_name_a_thread_and_an_id_from_elsewhere_is_kept_among_the_extras() {
        let line = r#"{"content": "tea", "thread": 12, "id": "D1:3", "x": null}"#;
        let Record::Fact(_, imported) = read(line).unwrap() else {
            panic!("a fact without a source is imported");
        };
        assert_eq!(imported.fact.thread.as_deref(), Some("12"));
        assert_eq!(
            imported.fact.extras.map(Value::Object),
            Some(json!({ "id": "D1:3" }))
        );
        assert_eq!(imported.created_at, None);
    }

    #[test]
    fn the_lines_of_an_export_are_told_from_facts_of_others() {
        let begin = read(r#"{"keepsake": "export", "version": 1}"#).unwrap();
        assert!(matches!(begin, Record::Bound(Bound::Begin)));
        let newer = read(r#"{"keepsake": "export", "version": 2}"#).unwrap_err();
        assert!(newer.contains("form 2"), "{newer}");
        let null = read(r#"{"keepsake": "working", "key": "k", "value": null, "updated_at": 3}"#);
        assert!(matches!(
            null.unwrap(),
            Record::Working(
                _,
                RestoredValue {
                    value: Value::Null,
                    updated_at: 3,
                    ..
                }
            )
        ));
        for (line, said) in [
            (r#"{"keepsake": "story"}"#, "`keepsake` must be"),
            (
                r#"{"keepsake": "working", "key": "k", "updated_at": 3}"#,
                "no `value`",
            ),
            (
                r#"{"keepsake": "working", "key": "", "value": 1, "updated_at": 3}"#,
                "must not be empty",
            ),
            (r#"{"keepsake": "profile", "value": {}}"#, "no `updated_at`"),
            (
                r#"{"keepsake": "fact", "content": "x", "id": "x"}"#,
                "no id of a fact",
            ),
            (
                r#"{"keepsake": "fact", "content": "x", "vector": {"model": "m", "dimensions": 2, "base64": "AAAA"}}"#,
                "`vector` must be",
            ),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
        let vector = r#"{"model": "m", "dimensions": 2, "base64": "AACAPwAAAMA="}"#;
        let line = format!(r#"{{"keepsake": "fact", "content": "x", "vector": {vector}}}"#);
        let Record::Restored(_, _, Some(vector)) = read(&line).unwrap() else {
            panic!("it has a vector");
        };
        assert_eq!(vector.vectors, [[1.0, -2.0]]);
    }
}
