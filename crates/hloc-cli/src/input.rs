//! Reading the program: a file or stdin.

use std::io::Read;

use anyhow::Context;

use crate::failure::Wrong;

/// A program as it was read.
#[derive(Clone)]
pub(crate) struct ProgramFile {
    /// What messages call it.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) bytes: Vec<u8>,
}

impl ProgramFile {
    /// Reads the file at `path`, or stdin for `-`.
    pub(crate) fn read(path: &str) -> anyhow::Result<ProgramFile> {
        if path == "-" {
            let mut bytes = Vec::new();
            let read = std::io::stdin().read_to_end(&mut bytes);
            read.context("cannot read standard input")?;
            return Ok(ProgramFile {
                name: "<stdin>".to_owned(),
                bytes,
            });
        }
        let bytes = std::fs::read(path).with_context(|| format!("cannot read `{path}`"))?;
        Ok(ProgramFile {
            name: path.to_owned(),
            bytes,
        })
    }

    /// The program as text.
    pub(crate) fn into_text(self) -> anyhow::Result<(String, String)> {
        let text = String::from_utf8(self.bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Wrong::error(format!(
                "`{}` is not UTF-8 text: byte {at} cannot be read",
                self.name
            ))
        })?;
        Ok((self.name, text))
    }
}
