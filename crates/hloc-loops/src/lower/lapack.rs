//! The custom calls by which front ends reach LAPACK.
//!
//! A target is `lapack_TNAME_ffi`, with T one of `s`, `d`, `c`, `z`; options are integers, often of
//! letters, in the backend configuration: `{uplo = 76 : ui8}` is `L`. Layouts of operands and results
//! do not change what the routine does with the matrices.

use hloc_ir::words::Transpose;
use hloc_ir::{BackendConfig, Instruction};

use super::builder::Built;
use crate::error::LowerError;
use crate::routine::{Lapack, Triangular};

/// The routine that a target names; `None` if it names none of LAPACK.
///
/// # Errors
/// [`LowerError::Unsupported`] for options that the routine does not have.
pub(super) fn routine(instruction: &Instruction, target: &str) -> Built<Option<Lapack>> {
    let name = target.strip_prefix("lapack_");
    let name = name.and_then(|name| name.strip_suffix("_ffi"));
    let Some(name) = name.and_then(|name| name.strip_prefix(['s', 'd', 'c', 'z'])) else {
        return Ok(None);
    };
    let options = Options {
        instruction,
        text: match instruction.attributes.as_ref() {
            Some(attributes) => match &attributes.backend_config {
                Some(BackendConfig::Braces(text) | BackendConfig::String(text)) => text,
                None => "",
            },
            None => "",
        },
    };
    Ok(Some(match name {
        "getrf" => Lapack::Getrf,
        "potrf" => Lapack::Potrf {
            lower: options.either("uplo", ['L', 'U'])?,
        },
        "geqrf" => Lapack::Geqrf,
        "orgqr" | "ungqr" => Lapack::Orgqr,
        "syevd" | "heevd" => Lapack::Syevd {
            lower: options.either("uplo", ['L', 'U'])?,
            vectors: options.either("mode", ['V', 'N'])?,
        },
        "gesdd" => Lapack::Gesdd {
            vectors: options.letter("mode")? != 'N',
        },
        "geev" => Lapack::Geev {
            left: options.either("compute_left", ['V', 'N'])?,
            right: options.either("compute_right", ['V', 'N'])?,
        },
        "gees" => {
            // Sorting asks a function of the caller, which no program text can hold.
            options.either("sort", ['N', 'N'])?;
            Lapack::Gees {
                vectors: options.either("mode", ['V', 'N'])?,
            }
        }
        "trsm" => Lapack::Trsm(Triangular {
            left_side: options.either("side", ['L', 'R'])?,
            lower: options.either("uplo", ['L', 'U'])?,
            unit_diagonal: options.either("diag", ['U', 'N'])?,
            transpose: match options.letter("trans_x")? {
                'N' => Transpose::NoTranspose,
                'T' => Transpose::Transpose,
                'C' => Transpose::Adjoint,
                _ => return Err(options.wrong("trans_x")),
            },
        }),
        "gtsv" => Lapack::Gtsv,
        "sytrd" | "hetrd" => Lapack::Sytrd {
            lower: options.either("uplo", ['L', 'U'])?,
        },
        "gehrd" => Lapack::Gehrd {
            low: options.number("low").unwrap_or(1),
            high: options.number("high").unwrap_or(i64::MAX),
        },
        _ => return Ok(None),
    }))
}

/// The backend configuration of a call.
struct Options<'a> {
    instruction: &'a Instruction,
    text: &'a str,
}

impl Options<'_> {
    /// The integer that an option is.
    fn number(&self, name: &str) -> Option<i64> {
        let inner = self
            .text
            .trim()
            .trim_start_matches('{')
            .trim_end_matches('}');
        inner.split(',').find_map(|entry| {
            let (key, value) = entry.split_once('=')?;
            let value = value.split(':').next()?;
            (key.trim() == name).then(|| value.trim().parse().ok())?
        })
    }

    fn letter(&self, name: &str) -> Built<char> {
        let number = self
            .number(name)
            .and_then(|number| u8::try_from(number).ok());
        number.map(char::from).ok_or_else(|| self.wrong(name))
    }

    /// Whether an option is the first of two letters rather than the second.
    fn either(&self, name: &str, [yes, no]: [char; 2]) -> Built<bool> {
        let letter = self.letter(name)?;
        if letter == yes {
            Ok(true)
        } else if letter == no {
            Ok(false)
        } else {
            Err(self.wrong(name))
        }
    }

    fn wrong(&self, name: &str) -> LowerError {
        let reason = format!("its backend configuration does not say `{name}` as LAPACK does");
        LowerError::unsupported(self.instruction, reason)
    }
}
