//! Owned arrays: an element type, dimensions, and shared bytes.

use std::sync::Arc;

use bytemuck::checked;

use crate::scalar::{decode_element, encode_element};
use crate::storage::AlignedBytes;
use crate::{Element, ElementType, Scalar, TensorError, num_elements};

/// A dense row-major array of one element type.
///
/// Cloning shares the data; writing to a shared array copies it first. The data starts on a
/// 64-byte boundary. Elements below 8 bits take one byte each, sign- or zero-extended.
///
/// ```
/// use hloc_tensor::{Array, ElementType};
///
/// let array = Array::from_slice(&[2, 3], &[1i32, 2, 3, 4, 5, 6])?;
/// assert_eq!(array.element_type(), ElementType::S32);
/// assert_eq!(array.reshaped(&[6])?.as_slice::<i32>(), Some(&[1, 2, 3, 4, 5, 6][..]));
/// # Ok::<(), hloc_tensor::TensorError>(())
/// ```
#[derive(Clone)]
pub struct Array {
    element_type: ElementType,
    dims: Arc<[i64]>,
    /// Invariant: as many bytes as `dims` and `element_type` ask for.
    data: Arc<AlignedBytes>,
}

impl Array {
    /// An array of these bytes, in row-major order and the machine's byte order.
    ///
    /// Bits above an element's width are replaced (`s4` byte `0x0f` becomes `0xff`, `pred` byte 2
    /// becomes 1), so every array holds each value in one way.
    ///
    /// # Errors
    ///
    /// [`TensorError::InvalidSize`] for negative or overflowing dimensions,
    /// [`TensorError::WrongLength`] when there are more or fewer bytes than the dimensions ask for.
    pub fn new(
        element_type: ElementType,
        dims: &[i64],
        bytes: Vec<u8>,
    ) -> Result<Array, TensorError> {
        let expected = byte_count(element_type, dims)?;
        check_length(element_type, dims, "bytes", expected, bytes.len())?;
        let data = AlignedBytes::copied(&bytes)
            .ok_or_else(|| out_of_memory(element_type, dims, expected))?;
        let mut array = Array {
            element_type,
            dims: dims.into(),
            data: Arc::new(data),
        };
        array.normalize();
        Ok(array)
    }

    /// An array whose bytes are all zero: 0, false, or 2⁻¹²⁷ for `f8e8m0fnu`, which has no zero.
    ///
    /// # Errors
    ///
    /// [`TensorError::InvalidSize`] for negative or overflowing dimensions,
    /// [`TensorError::OutOfMemory`] when the allocator refuses.
    pub fn zeros(element_type: ElementType, dims: &[i64]) -> Result<Array, TensorError> {
        let bytes = byte_count(element_type, dims)?;
        let data =
            AlignedBytes::zeroed(bytes).ok_or_else(|| out_of_memory(element_type, dims, bytes))?;
        Ok(Array {
            element_type,
            dims: dims.into(),
            data: Arc::new(data),
        })
    }

    /// An array of these elements, in row-major order.
    ///
    /// # Errors
    ///
    /// [`TensorError::InvalidSize`] for negative or overflowing dimensions,
    /// [`TensorError::WrongLength`] when there are more or fewer elements than the dimensions ask for.
    pub fn from_slice<T: Element>(dims: &[i64], elements: &[T]) -> Result<Array, TensorError> {
        let bytes = byte_count(T::TYPE, dims)?;
        check_length(
            T::TYPE,
            dims,
            "elements",
            bytes / T::TYPE.size(),
            elements.len(),
        )?;
        let source = bytemuck::cast_slice(elements);
        let data =
            AlignedBytes::copied(source).ok_or_else(|| out_of_memory(T::TYPE, dims, bytes))?;
        Ok(Array {
            element_type: T::TYPE,
            dims: dims.into(),
            data: Arc::new(data),
        })
    }

    /// An array without dimensions that holds one element.
    pub fn scalar<T: Element>(value: T) -> Array {
        let data = AlignedBytes::copied(bytemuck::bytes_of(&value))
            .expect("sixteen bytes are always to be had");
        Array {
            element_type: T::TYPE,
            dims: Arc::default(),
            data: Arc::new(data),
        }
    }

    /// The type of the elements.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The extent of each dimension; none is negative.
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// How many dimensions there are: 0 for a scalar.
    pub fn num_dims(&self) -> usize {
        self.dims.len()
    }

    /// How many elements there are: 1 for a scalar.
    pub fn num_elements(&self) -> usize {
        self.data.bytes().len() / self.element_type.size()
    }

    /// The elements' bytes, row-major, in the machine's byte order. They start on a 64-byte boundary.
    pub fn bytes(&self) -> &[u8] {
        self.data.bytes()
    }

    /// The elements' bytes for writing. Copies the data first when another array shares it.
    ///
    /// The writer keeps `pred` bytes at 0 or 1 and elements below 8 bits sign- or zero-extended.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        Arc::make_mut(&mut self.data).bytes_mut()
    }

    /// The elements, or `None` when they are not of type `T`.
    ///
    /// For `bool` also `None` when a byte other than 0 and 1 was written through [`Array::bytes_mut`].
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        if T::TYPE != self.element_type {
            return None;
        }
        checked::try_cast_slice(self.bytes()).ok()
    }

    /// The elements for writing, or `None` as for [`Array::as_slice`]. Copies shared data first.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        if T::TYPE != self.element_type {
            return None;
        }
        checked::try_cast_slice_mut(self.bytes_mut()).ok()
    }

    /// A copy of the elements, or `None` as for [`Array::as_slice`].
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        self.as_slice().map(<[T]>::to_vec)
    }

    /// The same data with other dimensions; nothing is copied.
    ///
    /// # Errors
    ///
    /// [`TensorError::InvalidSize`] for negative or overflowing dimensions,
    /// [`TensorError::WrongLength`] when the number of elements would change.
    pub fn reshaped(&self, dims: &[i64]) -> Result<Array, TensorError> {
        let expected = byte_count(self.element_type, dims)? / self.element_type.size();
        check_length(
            self.element_type,
            dims,
            "elements",
            expected,
            self.num_elements(),
        )?;
        Ok(Array {
            element_type: self.element_type,
            dims: dims.into(),
            data: Arc::clone(&self.data),
        })
    }

    /// Whether no other array shares the data, so that writing copies nothing.
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.data) == 1
    }

    /// The element at this row-major position.
    ///
    /// # Panics
    ///
    /// When `position` is not below [`Array::num_elements`], as indexing a slice does.
    pub fn get(&self, position: usize) -> Scalar {
        let size = self.element_type.size();
        decode_element(self.element_type, &self.bytes()[position * size..][..size])
    }

    /// Writes the element at this row-major position, converted as HLO's `convert` does.
    ///
    /// Integers wrap to narrower integers; floats truncate toward zero and saturate into integers;
    /// all else rounds once, to nearest even. Copies shared data first.
    ///
    /// # Panics
    ///
    /// When `position` is not below [`Array::num_elements`], as indexing a slice does.
    pub fn set(&mut self, position: usize, value: Scalar) {
        let element_type = self.element_type;
        let size = element_type.size();
        encode_element(
            element_type,
            value,
            &mut self.bytes_mut()[position * size..][..size],
        );
    }

    /// Gives every element its one representation; only types narrower than their bytes have several.
    fn normalize(&mut self) {
        let bits = self.element_type.bits();
        if self.element_type.is_predicate() {
            self.bytes_mut()
                .iter_mut()
                .for_each(|byte| *byte = u8::from(*byte != 0));
        } else if bits < 8 {
            let (signed, unused) = (self.element_type.is_signed_integer(), 8 - bits);
            for byte in self.bytes_mut() {
                let high = *byte << unused;
                *byte = if signed {
                    (high.cast_signed() >> unused).cast_unsigned()
                } else {
                    high >> unused
                };
            }
        }
    }
}

impl PartialEq for Array {
    /// Same element type, dimensions and bits: a NaN equals itself, −0 differs from +0.
    fn eq(&self, other: &Array) -> bool {
        self.element_type == other.element_type
            && self.dims == other.dims
            && self.bytes() == other.bytes()
    }
}

impl Eq for Array {}

/// The bytes an array needs, when that many can exist.
fn byte_count(element_type: ElementType, dims: &[i64]) -> Result<usize, TensorError> {
    num_elements(dims)
        .and_then(|count| usize::try_from(count).ok())
        .and_then(|count| count.checked_mul(element_type.size()))
        // Rounded up to chunks, an allocation must stay below this.
        .filter(|&bytes| bytes <= isize::MAX as usize - 64)
        .ok_or_else(|| TensorError::InvalidSize {
            element_type,
            dims: dims.to_vec(),
        })
}

fn check_length(
    element_type: ElementType,
    dims: &[i64],
    unit: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), TensorError> {
    if expected == found {
        return Ok(());
    }
    Err(TensorError::WrongLength {
        element_type,
        dims: dims.to_vec(),
        unit,
        expected,
        found,
    })
}

fn out_of_memory(element_type: ElementType, dims: &[i64], bytes: usize) -> TensorError {
    TensorError::OutOfMemory {
        element_type,
        dims: dims.to_vec(),
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::Array;
    use crate::{Complex, Element, ElementType, Scalar, TensorError};

    #[test]
    fn elements_come_back_as_they_went_in() {
        fn check<T: Element + std::fmt::Debug>(values: [T; 2]) {
            let array = Array::from_slice(&[2, 1], &values).expect("two elements");
            assert_eq!(array.element_type(), T::TYPE);
            assert_eq!(array.as_slice::<T>(), Some(&values[..]));
            assert_eq!(array.to_vec::<T>(), Some(values.to_vec()));
            let copy =
                Array::new(T::TYPE, &[2, 1], array.bytes().to_vec()).expect("the same bytes");
            assert_eq!(copy, array);
        }
        check([true, false]);
        check([-1i8, 2]);
        check([-1i16, 2]);
        check([-1i32, 2]);
        check([-1i64, 2]);
        check([1u8, 200]);
        check([1u16, 2]);
        check([1u32, 2]);
        check([1u64, 2]);
        check([f16::from_f32(0.5), f16::MAX]);
        check([bf16::from_f32(0.5), bf16::MAX]);
        check([0.5f32, -1.0]);
        check([0.5f64, -1.0]);
        check([Complex::new(1.0f32, 2.0), Complex::new(3.0, 4.0)]);
        check([Complex::new(1.0f64, 2.0), Complex::new(3.0, 4.0)]);
    }

    #[test]
    fn sizes_are_checked() {
        let wrong = |dims: &[i64]| Array::zeros(ElementType::F64, dims).map(|_| ());
        assert!(matches!(wrong(&[-1]), Err(TensorError::InvalidSize { .. })));
        assert!(matches!(
            wrong(&[i64::MAX, 3]),
            Err(TensorError::InvalidSize { .. })
        ));
        assert!(matches!(
            wrong(&[i64::MAX]),
            Err(TensorError::InvalidSize { .. })
        ));
        assert!(matches!(
            wrong(&[1 << 59]),
            Err(TensorError::OutOfMemory { .. })
        ));
        let short = Array::new(ElementType::F32, &[2], vec![0; 7]);
        assert_eq!(
            short.expect_err("a byte is missing").to_string(),
            "f32[2] needs 8 bytes, but 7 were given"
        );
        assert!(Array::from_slice(&[2], &[1u8]).is_err());
        assert_eq!(
            Array::zeros(ElementType::F32, &[0, i64::MAX])
                .expect("no elements")
                .num_elements(),
            0
        );
    }

    #[test]
    fn data_is_aligned() {
        for count in [1, 63, 64, 65, 1000] {
            let array = Array::zeros(ElementType::U8, &[count]).expect("small");
            assert_eq!(array.bytes().as_ptr().addr() % 64, 0);
            assert_eq!(array.bytes().len(), count as usize);
        }
    }

    #[test]
    fn writing_to_a_shared_array_copies() {
        let mut array = Array::from_slice(&[2], &[1i32, 2]).expect("two elements");
        let shared = array.clone();
        let reshaped = array.reshaped(&[2, 1]).expect("same size");
        assert!(!array.is_unique());
        array.as_mut_slice::<i32>().expect("s32")[0] = 7;
        assert!(array.is_unique());
        assert_eq!(shared.as_slice::<i32>(), Some(&[1, 2][..]));
        assert_eq!(reshaped.as_slice::<i32>(), Some(&[1, 2][..]));
        assert_eq!(array.as_slice::<i32>(), Some(&[7, 2][..]));
        assert!(array.reshaped(&[3]).is_err());
        assert!(array.as_slice::<u32>().is_none());
    }

    #[test]
    fn each_value_has_one_representation() {
        let array =
            |element_type, byte: u8| Array::new(element_type, &[], vec![byte]).expect("one byte");
        assert_eq!(array(ElementType::Pred, 2).bytes(), [1]);
        assert_eq!(array(ElementType::S4, 0x0f).bytes(), [0xff]);
        assert_eq!(array(ElementType::S4, 0x0f).get(0), Scalar::Int(-1));
        assert_eq!(array(ElementType::U4, 0xff).get(0), Scalar::Uint(15));
        assert_eq!(array(ElementType::S1, 1).get(0), Scalar::Int(-1));
        assert_eq!(
            array(ElementType::F4E2M1Fn, 0xf7).get(0),
            Scalar::Float(6.0)
        );
    }

    #[test]
    fn elements_are_read_and_written_one_by_one() {
        let mut array = Array::zeros(ElementType::BF16, &[2]).expect("two elements");
        array.set(1, Scalar::Float(1.00390625));
        assert_eq!(array.get(1), Scalar::Float(1.0));
        array.set(0, Scalar::Int(-3));
        assert_eq!(
            array.as_slice::<bf16>(),
            Some(&[bf16::from_f32(-3.0), bf16::ONE][..])
        );
        let mut array = Array::scalar(Complex::new(1.0f64, 2.0));
        assert_eq!(array.get(0), Scalar::Complex(1.0, 2.0));
        array.set(0, Scalar::Complex(-0.5, 4.0));
        assert_eq!(array.as_slice(), Some(&[Complex::new(-0.5f64, 4.0)][..]));
        let mut array = Array::scalar(0u64);
        array.set(0, Scalar::Uint(u64::MAX));
        assert_eq!(array.get(0), Scalar::Uint(u64::MAX));
    }
}
