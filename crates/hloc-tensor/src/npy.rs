//! NumPy's `.npy` format: one array, with its type and dimensions in a small text header.
//!
//! The header is read by hand and strictly: files come from outside, so no size in one is trusted
//! before the bytes are there, and nothing in one can make the reader panic.

use std::io::{Read, Write};

use crate::npy_header::{Header, ItemType};
use crate::{Array, ElementType, IndexIter, TensorError, num_elements};

/// The kind of number a NumPy type code stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NpyKind {
    /// `b`: one byte, 0 or 1.
    Bool,
    /// `i`: a signed integer.
    Signed,
    /// `u`: an unsigned integer.
    Unsigned,
    /// `f`: a float.
    Float,
    /// `c`: a pair of floats.
    Complex,
    /// `V`: bytes of a type NumPy does not know, as it stores `bf16`, 8-bit floats and 4-bit integers.
    Raw,
}

/// The contents of an `.npy` file: row-major and in the machine's byte order, whatever the file has.
///
/// NumPy files do not name the types that NumPy itself lacks, so the reader of the file says which
/// element type it wants: [`NpyArray::into_array`].
#[derive(Clone, Debug)]
pub struct NpyArray {
    item: ItemType,
    dims: Vec<i64>,
    bytes: Vec<u8>,
}

impl NpyArray {
    /// The kind of number the file says it holds.
    pub fn kind(&self) -> NpyKind {
        self.item.kind
    }

    /// Bytes per element.
    pub fn item_size(&self) -> usize {
        self.item.size
    }

    /// The type as NumPy spells it: `<f4`, `|b1`, `|V2`.
    pub fn descr(&self) -> String {
        self.item.descr()
    }

    /// The extent of each dimension.
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// The elements' bytes, row-major, in the machine's byte order.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The element type that the file names, or `None` for raw bytes: `<i4` gives `s32`, `|V2` gives `None`.
    pub fn element_type(&self) -> Option<ElementType> {
        ElementType::ALL.iter().copied().find(|&element_type| {
            self.item.kind != NpyKind::Raw
                && npy_type(element_type) == (self.item.kind, self.item.size)
        })
    }

    /// The array, its elements taken for `element_type`.
    ///
    /// Named types fit only their own element type (`|b1` `pred`, `<i4` `s32`, `<f2` `f16`). Raw bytes
    /// fit the types NumPy has no name for: `|V2` `bf16`, and `|V1` the 8-bit floats and all below 8 bits.
    /// `<f1`, which ml_dtypes writes but NumPy refuses to read, is `f8e5m2`.
    ///
    /// # Errors
    ///
    /// [`TensorError::WrongNpyType`] when the file's type does not fit.
    pub fn into_array(self, element_type: ElementType) -> Result<Array, TensorError> {
        let found = (self.item.kind, self.item.size);
        let fits = found == npy_type(element_type)
            || (found == (NpyKind::Float, 1) && element_type == ElementType::F8E5M2);
        if !fits {
            return Err(TensorError::WrongNpyType {
                descr: self.descr(),
                element_type,
            });
        }
        Array::new(element_type, &self.dims, self.bytes)
    }
}

/// How NumPy files hold an element type: kind and bytes per element.
fn npy_type(element_type: ElementType) -> (NpyKind, usize) {
    let kind = match element_type {
        ElementType::Pred => NpyKind::Bool,
        ElementType::S8 | ElementType::S16 | ElementType::S32 | ElementType::S64 => NpyKind::Signed,
        ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => {
            NpyKind::Unsigned
        }
        ElementType::F16 | ElementType::F32 | ElementType::F64 => NpyKind::Float,
        ElementType::C64 | ElementType::C128 => NpyKind::Complex,
        ElementType::S1
        | ElementType::S2
        | ElementType::S4
        | ElementType::U1
        | ElementType::U2
        | ElementType::U4
        | ElementType::F4E2M1Fn
        | ElementType::F6E2M3Fn
        | ElementType::F6E3M2Fn
        | ElementType::F8E3M4
        | ElementType::F8E4M3
        | ElementType::F8E4M3Fn
        | ElementType::F8E4M3B11Fnuz
        | ElementType::F8E4M3Fnuz
        | ElementType::F8E5M2
        | ElementType::F8E5M2Fnuz
        | ElementType::F8E8M0Fnu
        | ElementType::BF16 => NpyKind::Raw,
    };
    (kind, element_type.size())
}

/// Reads one `.npy` file: versions 1 to 3, both byte orders, C and Fortran order.
///
/// # Errors
///
/// [`TensorError::MalformedNpy`] when it is not one or ends early, [`TensorError::UnsupportedNpyType`]
/// for strings, objects, structures and 16-byte floats, [`TensorError::Io`] when reading fails.
pub fn read(mut reader: impl Read) -> Result<NpyArray, TensorError> {
    let Header {
        item,
        fortran_order,
        dims,
    } = Header::read(&mut reader)?;
    let count = num_elements(&dims).and_then(|count| usize::try_from(count).ok());
    let size = count
        .and_then(|count| count.checked_mul(item.size))
        .ok_or_else(|| {
            TensorError::MalformedNpy(format!(
                "the dimensions {dims:?} need more bytes than there can be"
            ))
        })?;
    let mut bytes = Vec::new();
    // Grows with the bytes that are there, not with what the header claims.
    reader.take(size as u64).read_to_end(&mut bytes)?;
    if bytes.len() != size {
        let found = bytes.len();
        return Err(TensorError::MalformedNpy(format!(
            "the data ends after {found} bytes; {}{dims:?} needs {size}",
            item.descr()
        )));
    }
    if fortran_order {
        bytes = to_row_major(&dims, item.size, &bytes);
    }
    item.to_machine_order(&mut bytes);
    Ok(NpyArray { item, dims, bytes })
}

/// Writes one `.npy` file that `numpy.load` reads.
///
/// `pred` is written as `|b1`; `bf16` as `|V2`; 8-bit floats and types below 8 bits as `|V1`.
///
/// # Errors
///
/// [`TensorError::Io`] when writing fails.
pub fn write(mut writer: impl Write, array: &Array) -> Result<(), TensorError> {
    let (kind, size) = npy_type(array.element_type());
    let header = Header {
        item: ItemType::machine_order(kind, size),
        fortran_order: false,
        dims: array.dims().to_vec(),
    };
    writer.write_all(&header.to_bytes())?;
    writer.write_all(array.bytes())?;
    Ok(())
}

/// The elements of a column-major array in row-major order.
fn to_row_major(dims: &[i64], item_size: usize, bytes: &[u8]) -> Vec<u8> {
    let mut strides = vec![1i64; dims.len()];
    for i in 1..dims.len() {
        // No overflow where there are elements: then this stays below their number.
        strides[i] = strides[i - 1].saturating_mul(dims[i - 1]);
    }
    let mut result = Vec::with_capacity(bytes.len());
    let mut walk = IndexIter::new(dims);
    while let Some(index) = walk.next_index() {
        let position: i64 = index
            .iter()
            .zip(&strides)
            .map(|(index, stride)| index * stride)
            .sum();
        result.extend_from_slice(&bytes[position as usize * item_size..][..item_size]);
    }
    result
}
