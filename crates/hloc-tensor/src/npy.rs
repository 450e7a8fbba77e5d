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

impl NpyArray {
    /// As [`NpyArray::into_array`], where the dimensions wanted are known: elements below 8 bits may also
    /// lie packed in bytes (`|u1`, `|i1` or `|V1`), the first in the lowest bits, each row of the last
    /// dimension in bytes of its own.
    ///
    /// `[0x21, 0x03]` wanted as `u4[3]` gives 1, 2, 3.
    ///
    /// # Errors
    ///
    /// As [`NpyArray::into_array`].
    pub fn into_array_of(
        self,
        element_type: ElementType,
        dims: &[i64],
    ) -> Result<Array, TensorError> {
        let bits = element_type.bits();
        let is_byte = self.item.size == 1 && self.item.kind != NpyKind::Bool;
        let is_narrow = bits < 8 && 8 % bits == 0 && element_type != ElementType::Pred;
        let (Some((length, outer)), Some((bytes, rows))) =
            (dims.split_last(), self.dims.split_last())
        else {
            return self.into_array(element_type);
        };
        let per_byte = i64::from(8 / bits.clamp(1, 8));
        let is_packed = rows == outer && *bytes == (*length + per_byte - 1) / per_byte;
        if !(is_byte && is_narrow && is_packed) || bytes == length {
            return self.into_array(element_type);
        }
        let mask = (1u8 << bits) - 1;
        let (length, bytes) = (*length as usize, *bytes as usize);
        let mut elements = Vec::new();
        for row in self.bytes.chunks_exact(bytes.max(1)) {
            let parts = row.iter().flat_map(|byte| {
                let shifts = (0..8).step_by(bits as usize);
                shifts.map(move |shift| (byte >> shift) & mask)
            });
            elements.extend(parts.take(length));
        }
        Array::new(element_type, dims, elements)
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
    let bits = array.element_type().bits();
    if bits < 8 {
        // ml_dtypes leaves the bits above an element zero, where `Array` extends the sign.
        let masked: Vec<u8> = array
            .bytes()
            .iter()
            .map(|byte| byte & ((1 << bits) - 1))
            .collect();
        writer.write_all(&masked)?;
    } else {
        writer.write_all(array.bytes())?;
    }
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

#[cfg(test)]
mod tests {
    use super::{NpyKind, read, write};
    use crate::{Array, ElementType, Scalar, TensorError};

    /// A version 1.0 file.
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    fn load(header: &str, data: &[u8], element_type: ElementType) -> Result<Array, TensorError> {
        read(&file(header, data)[..])?.into_array(element_type)
    }

    #[test]
    fn every_element_type_survives_a_file() {
        for &element_type in ElementType::ALL {
            let mut array = Array::zeros(element_type, &[2, 3]).expect("six elements");
            array.set(4, Scalar::Float(1.0));
            let mut bytes = Vec::new();
            write(&mut bytes, &array).expect("a vector takes all");
            assert_eq!((bytes.len() - array.bytes().len()) % 64, 0);
            let back = read(&bytes[..]).expect("just written");
            assert!(
                back.element_type()
                    .is_none_or(|named| named == element_type)
            );
            assert_eq!(back.into_array(element_type).expect("its own type"), array);
        }
    }

    #[test]
    fn files_have_the_form_that_numpy_writes() {
        let mut bytes = Vec::new();
        write(
            &mut bytes,
            &Array::from_slice(&[3], &[1u8, 2, 3]).expect("three elements"),
        )
        .expect("written");
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
        assert_eq!(bytes[..10], *b"\x93NUMPY\x01\x00v\x00");
        assert_eq!(bytes[10..128], *format!("{header:<117}\n").as_bytes());
        assert_eq!(bytes[128..], [1, 2, 3]);
    }

    #[test]
    fn both_byte_orders_and_both_index_orders() {
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n";
        let array = load(
            header,
            &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6],
            ElementType::S16,
        );
        assert_eq!(
            array.expect("readable").as_slice::<i16>(),
            Some(&[1, 2, 3, 4, 5, 6][..])
        );
        let header = "{'descr': '>c8', 'fortran_order': False, 'shape': ()}";
        let data = [1.0f32.to_be_bytes(), 2.0f32.to_be_bytes()].concat();
        let array = load(header, &data, ElementType::C64).expect("readable");
        assert_eq!(array.get(0), Scalar::Complex(1.0, 2.0));
    }

    #[test]
    fn raw_bytes_take_the_type_the_caller_wants() {
        let header = "{'descr': '<V1', 'fortran_order': False, 'shape': (2,), }";
        let array = load(header, &[0x0f, 1], ElementType::S4).expect("one byte");
        assert_eq!(
            [array.get(0), array.get(1)],
            [Scalar::Int(-1), Scalar::Int(1)]
        );
        assert!(load(header, &[0x38, 0], ElementType::F8E4M3Fn).is_ok());
        assert!(load(header, &[1, 0], ElementType::Pred).is_err());
        let header = "{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }";
        assert!(load(header, &[0x80, 0x3f], ElementType::BF16).is_ok());
        assert!(load(header, &[0x80, 0x3f], ElementType::F16).is_err());
        let header = "{'descr': '<f1', 'fortran_order': False, 'shape': (1,), }";
        assert!(load(header, &[0x3c], ElementType::F8E5M2).is_ok());
        let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (), }";
        let error = load(header, &[0; 4], ElementType::F32).expect_err("integers");
        assert_eq!(
            error.to_string(),
            "NumPy type `<i4` does not hold f32 elements"
        );
    }

    #[test]
    fn narrow_elements_may_be_packed() {
        let packed = |text: (&str, &str), data: &[u8], ty, dims: &[i64]| {
            let (descr, shape) = text;
            let header =
                format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
            let file = file(&header, data);
            read(&file[..])?.into_array_of(ty, dims)
        };
        let text = ("|u1", "(2, 2)");
        let array = packed(text, &[0x21, 0xF3, 0x54, 0xF6], ElementType::S4, &[2, 3]);
        let array = array.expect("six elements");
        let values: Vec<_> = (0..6).map(|at| array.get(at)).collect();
        assert_eq!(values, [1, 2, 3, 4, 5, 6].map(Scalar::Int));
        let text = ("|V1", "(1,)");
        let array = packed(text, &[0b1101_0010], ElementType::U2, &[4]).expect("four elements");
        let values: Vec<_> = (0..4).map(|at| array.get(at)).collect();
        assert_eq!(values, [2, 0, 1, 3].map(Scalar::Uint));
        assert!(packed(("|u1", "(3,)"), &[1; 3], ElementType::U4, &[3]).is_err());
    }

    #[test]
    fn what_is_no_plain_array_is_refused() {
        let unsupported = [
            "'<U3'",
            "'|O'",
            "'|S4'",
            "[('a', '<f4')]",
            "'<f16'",
            "'<M8[ns]'",
            "'|V16'",
            "''",
            "'é'",
        ];
        for descr in unsupported {
            let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (), }}");
            let error = load(&header, &[0; 16], ElementType::F32).expect_err(descr);
            assert!(
                matches!(error, TensorError::UnsupportedNpyType { .. }),
                "{descr}: {error}"
            );
        }
        for header in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693952,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        ] {
            let error = load(header, &[0; 16], ElementType::F32).expect_err(header);
            assert!(
                matches!(error, TensorError::MalformedNpy(_)),
                "{header}: {error}"
            );
        }
        assert!(read(&b"\x93NUMPY\x04\x00"[..]).is_err());
        assert!(read(&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..]).is_err());
        assert!(read(&b"PK"[..]).is_err());
    }

    #[test]
    fn damaged_files_never_panic() {
        let mut bytes = Vec::new();
        write(
            &mut bytes,
            &Array::from_slice(&[2, 2], &[1i16, 2, 3, 4]).expect("four elements"),
        )
        .expect("written");
        for position in 0..bytes.len() {
            assert!(read(&bytes[..position]).is_err());
            for value in [0, b'9', b'(', 0xff] {
                let mut damaged = bytes.clone();
                damaged[position] = value;
                if let Ok(array) = read(&damaged[..]) {
                    assert!(array.kind() != NpyKind::Complex);
                }
            }
        }
    }

    #[test]
    fn long_headers_use_the_wide_form() {
        let array = Array::zeros(ElementType::U8, &[1; 22_000]).expect("one element");
        let mut bytes = Vec::new();
        write(&mut bytes, &array).expect("written");
        assert_eq!(bytes[6], 2);
        assert_eq!(bytes.len() % 64, 1);
        assert!(read(&bytes[..]).is_err(), "longer than this reader takes");
    }
}
