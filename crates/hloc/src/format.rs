//! The file that holds a compiled program: `.hloc`.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `hloc`, 0x00, `exe`: no text begins so |
//! | 4 | format version, little-endian |
//! | 8 | length of the rest, little-endian |
//! | rest | the optimized module as HLO text |
//!
//! The text is compiled when it is loaded, so that a file runs on any machine.

use std::io::{Read, Write};

use crate::error::FileError;

/// What every executable begins with.
pub(crate) const MAGIC: [u8; 8] = *b"hloc\0exe";

/// The version that this hloc writes and reads.
const VERSION: u32 = 1;

/// Whether `bytes` begin as an executable does.
pub fn is_executable(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Writes an executable of the module with this text.
pub(crate) fn write(mut writer: impl Write, text: &str) -> Result<(), FileError> {
    writer.write_all(&MAGIC)?;
    writer.write_all(&VERSION.to_le_bytes())?;
    writer.write_all(&(text.len() as u64).to_le_bytes())?;
    writer.write_all(text.as_bytes())?;
    writer.flush()?;
    Ok(())
}

/// Reads the text of the module in an executable.
pub(crate) fn read(mut reader: impl Read) -> Result<String, FileError> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let rest = bytes
        .strip_prefix(&MAGIC)
        .ok_or(FileError::NotAnExecutable)?;
    let damaged = |message: &str| FileError::Damaged(message.to_owned());
    let (version, rest) = rest
        .split_first_chunk()
        .ok_or_else(|| damaged("it ends before its version"))?;
    let found = u32::from_le_bytes(*version);
    if found != VERSION {
        return Err(FileError::WrongVersion {
            found,
            known: VERSION,
        });
    }
    let (length, text) = rest
        .split_first_chunk()
        .ok_or_else(|| damaged("it ends before its length"))?;
    let length = u64::from_le_bytes(*length);
    if length != text.len() as u64 {
        return Err(FileError::Damaged(format!(
            "its module should have {length} bytes, but has {}",
            text.len()
        )));
    }
    String::from_utf8(text.to_vec()).map_err(|_| damaged("its module is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::{MAGIC, is_executable, read, write};

    #[test]
    fn text_survives() {
        let mut file = Vec::new();
        write(&mut file, "HloModule m").expect("written");
        assert!(is_executable(&file));
        assert_eq!(read(&file[..]).expect("readable"), "HloModule m");
    }

    #[test]
    fn damage_is_told_apart() {
        let message = |bytes: &[u8]| read(bytes).expect_err("damaged").to_string();
        assert!(message(b"HloModule m").contains("does not begin"));
        let mut file = MAGIC.to_vec();
        assert!(message(&file).contains("ends before its version"));
        file.extend(9u32.to_le_bytes());
        assert!(message(&file).contains("version 9, but this hloc reads version 1"));
        let mut file = Vec::new();
        write(&mut file, "HloModule m").expect("written");
        file.pop();
        assert!(message(&file).contains("should have 11 bytes, but has 10"));
    }
}
