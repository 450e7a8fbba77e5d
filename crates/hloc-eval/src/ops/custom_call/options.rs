//! The backend configuration of a custom call: `{uplo = 76 : ui8}` is the option `uplo`, `L`.

use hloc_ir::Instruction;

use crate::EvalError;

/// The options of one call.
pub(super) struct Options<'a>(&'a str);

impl<'a> Options<'a> {
    pub(super) fn of(instruction: &'a Instruction) -> Options<'a> {
        Options(instruction.backend_config())
    }

    /// The integer of an option, `None` if it is not given.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        let entries = self.0.trim_matches(|c: char| "{} ".contains(c)).split(',');
        let mut pairs = entries.filter_map(|entry| entry.split_once('='));
        let (_, value) = pairs.find(|(key, _)| key.trim() == name)?;
        value.split(':').next()?.trim().parse().ok()
    }

    /// The option that is one of `letters`.
    pub(super) fn letter(&self, name: &str, letters: &str) -> Result<char, EvalError> {
        let number = self
            .number(name)
            .and_then(|number| u8::try_from(number).ok());
        number
            .map(char::from)
            .filter(|letter| letters.contains(*letter))
            .ok_or_else(|| {
                EvalError::argument(format!(
                    "the backend configuration does not say `{name}` as LAPACK does"
                ))
            })
    }
}
