//! The program as it is asked.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::data::Set;

/// Which rankings a recall uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Words alone.
    Words,
    /// Vectors alone.
    Vectors,
    /// Both.
    Hybrid,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Words, Self::Vectors, Self::Hybrid];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Vectors => "vectors",
            Self::Hybrid => "hybrid",
        }
    }
}

/// A data folder that lasts as long as this value, and the program that uses it.
#[derive(Debug)]
pub struct Memory {
    program: PathBuf,
    provider: String,
    folder: tempfile::TempDir,
}

#[derive(Deserialize)]
struct Answer {
    id: String,
    facts: Vec<Fact>,
}

#[derive(Deserialize)]
struct Fact {
    metadata: Value,
}

impl Memory {
    /// An empty memory of the program at `program`, which embeds with `provider`.
    ///
    /// # Errors
    /// When no folder can be made.
    pub fn new(program: &Path, provider: &str) -> Result<Self> {
        Ok(Self {
            program: program.to_path_buf(),
            provider: provider.to_owned(),
            folder: tempfile::tempdir()?,
        })
    }

    /// Imports the facts of a set.
    ///
    /// # Errors
    /// When the program fails.
    pub fn import(&self, set: &Set) -> Result<()> {
        let lines = lines(&set.facts);
        self.run(&["import", "--resource", &set.name, "--file", "-"], &lines)?;
        Ok(())
    }

    /// The ids of the facts that answer each question, best first.
    ///
    /// # Errors
    /// When the program fails or leaves a question out.
    pub fn ask(&self, set: &Set, mode: Mode, top: usize) -> Result<Vec<Vec<String>>> {
        let questions: Vec<Value> = set
            .questions
            .iter()
            .map(|question| json!({ "id": question.id, "query": question.text }))
            .collect();
        let top = top.to_string();
        let answers = self.run(
            &[
                "recall",
                "--resource",
                &set.name,
                "--queries",
                "-",
                "--top-k",
                &top,
                "--mode",
                mode.name(),
                "--json",
            ],
            &lines(&questions),
        )?;
        let answers: Vec<Answer> = answers
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        ensure!(
            answers.len() == set.questions.len(),
            "a question was left out"
        );
        set.questions
            .iter()
            .zip(answers)
            .map(|(question, answer)| {
                ensure!(answer.id == question.id, "answers are out of order");
                let id = |fact: Fact| Some(fact.metadata.get("id")?.as_str()?.to_owned());
                let ids = answer.facts.into_iter().map(id).collect::<Option<_>>();
                ids.context("a fact has lost its id")
            })
            .collect()
    }

    fn run(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut child = Command::new(&self.program)
            .arg("memory")
            .args(arguments)
            .arg("--data")
            .arg(self.folder.path())
            .current_dir(self.folder.path())
            .env("HOST_EMBEDDINGS", &self.provider)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(input.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        ensure!(
            output.status.success(),
            "host memory {} failed:\n{}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}
