//! Where lines come from: a file, which is read twice, or a pipe, which can be
//! read only once.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use crate::failure::{ExitCode, Failure};

/// What the path stands for that means standard input.
const STANDARD_INPUT: &str = "-";

/// What is read.
pub(super) enum Source {
    /// A file that can be read from its beginning again.
    File(File, PathBuf),
    /// Anything else.
    Stream(Box<dyn Read + Send>),
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == STANDARD_INPUT {
            return Ok(Self::Stream(Box::new(io::stdin())));
        }
        let refused = |error: io::Error| {
            Failure::new(
                ExitCode::Usage,
                format!("cannot read `{}`: {error}", path.display()),
            )
        };
        let file = File::open(path).map_err(refused)?;
        let kind = file.metadata().map_err(refused)?.file_type();
        if kind.is_dir() {
            return Err(Failure::new(
                ExitCode::Usage,
                format!(
                    "cannot read `{}`: it is a folder; name a file with a fact a line",
                    path.display()
                ),
            ));
        }
        Ok(if kind.is_file() {
            Self::File(file, path.to_owned())
        } else {
            Self::Stream(Box::new(file))
        })
    }

    /// A reader from the beginning on.
    pub(super) fn reader(self) -> Result<BufReader<Box<dyn Read + Send>>, Failure> {
        Ok(BufReader::with_capacity(
            BUFFER,
            match self {
                Self::File(mut file, path) => {
                    file.rewind().map_err(|error| {
                        Failure::new(
                            ExitCode::Other,
                            format!("cannot read `{}` again: {error}", path.display()),
                        )
                    })?;
                    Box::new(file)
                }
                Self::Stream(stream) => stream,
            },
        ))
    }
}

/// Bytes that are asked for at once.
pub(super) const BUFFER: usize = 256 * 1024;
