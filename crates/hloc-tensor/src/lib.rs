//! Element types, owned arrays, and NumPy files.
//!
//! Arrays are dense and row-major; sub-byte elements take one byte each.
//!
//! ```
//! use hloc_tensor::{Array, Scalar};
//!
//! let array = Array::from_slice(&[2, 2], &[1.0f32, 2.0, 3.0, 4.5])?;
//! assert_eq!(array.get(3), Scalar::Float(4.5));
//! assert_eq!(array.to_string(), "f32[2,2] [[1. , 2. ],\n          [3. , 4.5]]");
//! # Ok::<(), hloc_tensor::TensorError>(())
//! ```

mod array;
mod compare;
mod display;
mod element;
mod element_type;
mod error;
pub mod npy;
mod npy_header;
pub mod npz;
mod number_text;
mod scalar;
pub mod small_float;
mod storage;
mod strides;

pub use array::Array;
pub use compare::{Mismatch, Tolerance, compare};
pub use display::format_scalar;
pub use element::Element;
pub use element_type::{ElementClass, ElementType};
pub use error::TensorError;
pub use npy::{NpyArray, NpyKind};
/// A complex number as arrays hold it: fields `re` and `im`, in this order.
pub use num_complex::Complex;
pub use scalar::Scalar;
pub use small_float::{FloatFormat, NanKind, f64_to_bf16, f64_to_f16, float_format};
pub use strides::{IndexIter, index_at, num_elements, row_major_strides};
