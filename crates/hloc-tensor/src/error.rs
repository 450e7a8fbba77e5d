//! What a caller can get wrong with an array, and what a NumPy file can.

use crate::ElementType;

/// An array could not be made, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// A dimension is negative, or the dimensions together need more bytes than an address space has.
    #[error("an array of {element_type}{dims:?} cannot exist: its size is negative or too large")]
    InvalidSize {
        /// The element type asked for.
        element_type: ElementType,
        /// The dimensions asked for.
        dims: Vec<i64>,
    },
    /// The system has too little memory for the array.
    #[error("an array of {element_type}{dims:?} needs {bytes} bytes, more than could be allocated")]
    OutOfMemory {
        /// The element type asked for.
        element_type: ElementType,
        /// The dimensions asked for.
        dims: Vec<i64>,
        /// The bytes that were asked for.
        bytes: usize,
    },
    /// The data has another length than the dimensions say.
    #[error("{element_type}{dims:?} needs {expected} {unit}, but {found} were given")]
    WrongLength {
        /// The element type asked for.
        element_type: ElementType,
        /// The dimensions asked for.
        dims: Vec<i64>,
        /// What is counted: `"bytes"` or `"elements"`.
        unit: &'static str,
        /// What the dimensions ask for.
        expected: usize,
        /// What the caller gave.
        found: usize,
    },
    /// A NumPy file's element type is none of those its reader wanted.
    #[error("NumPy type `{descr}` does not hold {element_type} elements")]
    WrongNpyType {
        /// The type as the file spells it, e.g. `<f4`.
        descr: String,
        /// The element type that was wanted.
        element_type: ElementType,
    },
    /// A NumPy file has a type that no HLO array has (strings, objects, structures, ...).
    #[error("NumPy type `{descr}` is not supported")]
    UnsupportedNpyType {
        /// The type as the file spells it.
        descr: String,
    },
    /// A file is not a readable NumPy file.
    #[error("not a readable NumPy file: {0}")]
    MalformedNpy(String),
    /// A file is not a readable `.npz` archive.
    #[error("not a readable .npz archive: {0}")]
    MalformedNpz(String),
    /// An error about one member of an `.npz` archive.
    #[error("in member `{name}`")]
    Member {
        /// The member's name, without `.npy`.
        name: String,
        /// What is wrong with it.
        source: Box<TensorError>,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
