//! Arrays: nested braces around elements of one type.

use half::{bf16, f16};
use hloc_ir::{Array, ArrayShape, ElementType};
use hloc_tensor::{Complex, Element, TensorError, float_format};

use super::fault::{self, COUNT, Fault, KIND, RANGE, SYNTAX};
use super::float::{ComplexReader, F32Reader, F64Reader, NarrowReader};
use super::integer::{IntegerReader, NarrowIntegerReader, PredReader};
use super::scanner::Scanner;

/// Reads one element at the cursor, which stands behind white space.
pub(super) trait ElementReader {
    /// The element as the array stores it.
    type Item;
    fn read(&self, scanner: &mut Scanner<'_>) -> Result<Self::Item, Fault>;
}

/// Reads an array of `shape`, dynamic dimensions at their bounds.
pub(super) fn read_array(scanner: &mut Scanner<'_>, shape: &ArrayShape) -> Result<Array, Fault> {
    scanner.skip_noise()?;
    if shape.dims.len() > ArrayShape::MAX_DIMS || shape.dims.iter().any(|&dim| dim < 0) {
        let message = format!("a constant cannot be of shape {shape}: its sizes are not all known");
        return Err(scanner.fault_here(KIND, message));
    }
    let element_type = shape.element_type;
    match element_type {
        ElementType::Pred => typed::<bool, _>(scanner, shape, &PredReader),
        ElementType::S8 => integers::<i8>(scanner, shape),
        ElementType::S16 => integers::<i16>(scanner, shape),
        ElementType::S32 => integers::<i32>(scanner, shape),
        ElementType::S64 => integers::<i64>(scanner, shape),
        ElementType::U8 => integers::<u8>(scanner, shape),
        ElementType::U16 => integers::<u16>(scanner, shape),
        ElementType::U32 => integers::<u32>(scanner, shape),
        ElementType::U64 => integers::<u64>(scanner, shape),
        ElementType::S1
        | ElementType::S2
        | ElementType::S4
        | ElementType::U1
        | ElementType::U2
        | ElementType::U4 => bytes(scanner, shape, &NarrowIntegerReader(element_type)),
        ElementType::F4E2M1Fn
        | ElementType::F6E2M3Fn
        | ElementType::F6E3M2Fn
        | ElementType::F8E3M4
        | ElementType::F8E4M3
        | ElementType::F8E4M3Fn
        | ElementType::F8E4M3B11Fnuz
        | ElementType::F8E4M3Fnuz
        | ElementType::F8E5M2
        | ElementType::F8E5M2Fnuz
        | ElementType::F8E8M0Fnu => {
            let reader = narrow(scanner, element_type, |bits| bits as u8)?;
            bytes(scanner, shape, &reader)
        }
        ElementType::F16 => {
            let reader = narrow(scanner, element_type, |bits| f16::from_bits(bits as u16))?;
            typed(scanner, shape, &reader)
        }
        ElementType::BF16 => {
            let reader = narrow(scanner, element_type, |bits| bf16::from_bits(bits as u16))?;
            typed(scanner, shape, &reader)
        }
        ElementType::F32 => typed(scanner, shape, &F32Reader),
        ElementType::F64 => typed(scanner, shape, &F64Reader),
        ElementType::C64 => {
            typed::<Complex<f32>, _>(scanner, shape, &ComplexReader(element_type, F32Reader))
        }
        ElementType::C128 => {
            typed::<Complex<f64>, _>(scanner, shape, &ComplexReader(element_type, F64Reader))
        }
    }
}

fn narrow<T>(
    scanner: &Scanner<'_>,
    element_type: ElementType,
    from_bits: fn(u64) -> T,
) -> Result<NarrowReader<T>, Fault> {
    let Some(format) = float_format(element_type) else {
        return Err(scanner.fault_here(KIND, format!("{element_type} is no float type")));
    };
    Ok(NarrowReader {
        element_type,
        format,
        from_bits,
    })
}

fn integers<T>(scanner: &mut Scanner<'_>, shape: &ArrayShape) -> Result<Array, Fault>
where
    T: Element + TryFrom<i128>,
{
    typed::<T, _>(scanner, shape, &IntegerReader::<T>::new())
}

/// Reads into an array whose elements have the Rust type `T`.
fn typed<T, R>(scanner: &mut Scanner<'_>, shape: &ArrayShape, reader: &R) -> Result<Array, Fault>
where
    T: Element,
    R: ElementReader<Item = T>,
{
    read_into(scanner, shape, reader, |array| {
        array.as_mut_slice::<T>().unwrap_or(&mut [])
    })
}

/// Reads into an array whose elements take one byte each.
fn bytes<R>(scanner: &mut Scanner<'_>, shape: &ArrayShape, reader: &R) -> Result<Array, Fault>
where
    R: ElementReader<Item = u8>,
{
    read_into(scanner, shape, reader, Array::bytes_mut)
}

fn read_into<T, R: ElementReader<Item = T>>(
    scanner: &mut Scanner<'_>,
    shape: &ArrayShape,
    reader: &R,
    elements: impl FnOnce(&mut Array) -> &mut [T],
) -> Result<Array, Fault> {
    let start = scanner.pos();
    let refused = |scanner: &Scanner<'_>, error: TensorError| {
        scanner.fault(RANGE, start, scanner.token_end(start), error.to_string())
    };
    // An element takes at least a byte of text, so a text too short for its shape fails before the
    // array is full, and a hostile shape gets no more memory than its text.
    let bound = scanner.remaining() as i64;
    let count = shape.num_elements().unwrap_or(bound).min(bound);
    let mut array =
        Array::zeros(shape.element_type, &[count]).map_err(|error| refused(scanner, error))?;
    let mut reading = Reading {
        scanner,
        shape,
        reader,
        elements: elements(&mut array).iter_mut(),
    };
    if shape.is_scalar() {
        reading.element()?;
    } else {
        reading.level(0)?;
    }
    array
        .reshaped(&shape.dims)
        .map_err(|error| refused(scanner, error))
}

/// The reading of one array: what is still to be filled, and how.
struct Reading<'r, 't, T, R> {
    scanner: &'r mut Scanner<'t>,
    shape: &'r ArrayShape,
    reader: &'r R,
    elements: std::slice::IterMut<'r, T>,
}

impl<T, R: ElementReader<Item = T>> Reading<'_, '_, T, R> {
    #[inline]
    fn element(&mut self) -> Result<(), Fault> {
        let value = self.reader.read(self.scanner)?;
        match self.elements.next() {
            Some(slot) => {
                *slot = value;
                Ok(())
            }
            None => Err(self.scanner.fault_here(
                COUNT,
                format!("the literal gives more elements than {} has", self.shape),
            )),
        }
    }

    /// Reads the braces of dimension `dim` and all in them. At most `MAX_DIMS` calls are nested.
    ///
    /// `{}` stands for any array without elements: `f32[1000000,0]` would need a million braces.
    fn level(&mut self, dim: usize) -> Result<(), Fault> {
        self.scanner.skip_noise()?;
        if self.scanner.peek() != Some(b'{') {
            return Err(self.expected_brace(dim));
        }
        if dim == 0
            && let Some(fault) = fault::elided(self.scanner)
        {
            return Err(fault);
        }
        let open = self.scanner.pos();
        self.scanner.advance();
        if dim + 1 == self.shape.dims.len() {
            self.row(dim, open)?;
        } else {
            for given in 0..self.shape.dims[dim] {
                self.scanner.skip_noise()?;
                if self.scanner.peek() == Some(b'}') {
                    if dim == 0 && given == 0 && self.shape.num_elements() == Some(0) {
                        break;
                    }
                    return Err(self.too_few(dim, given, open));
                }
                self.level(dim + 1)?;
            }
        }
        self.scanner.skip_noise()?;
        if self.scanner.peek() != Some(b'}') {
            return Err(self.too_many(dim, open));
        }
        self.scanner.advance();
        Ok(())
    }

    /// Reads the elements inside the innermost braces.
    fn row(&mut self, dim: usize, open: usize) -> Result<(), Fault> {
        for given in 0..self.shape.dims[dim] {
            self.scanner.skip_noise()?;
            match self.scanner.peek() {
                Some(b'}') => return Err(self.too_few(dim, given, open)),
                Some(b'{') => return Err(self.too_deep()),
                Some(_) | None => self.element()?,
            }
        }
        Ok(())
    }

    #[cold]
    fn expected_brace(&self, dim: usize) -> Fault {
        let shape = self.shape;
        fault::expected(self.scanner, &format!("`{{` of dimension {dim} of {shape}"))
    }

    #[cold]
    fn too_deep(&self) -> Fault {
        if let Some(fault) = fault::elided(self.scanner) {
            return fault;
        }
        let (shape, num_dims) = (self.shape, self.shape.num_dims());
        self.scanner.fault_here(
            COUNT,
            format!("{shape} has {num_dims} dimensions, but the braces nest deeper"),
        )
    }

    #[cold]
    fn too_few(&self, dim: usize, given: i64, open: usize) -> Fault {
        self.wrong_count(dim, given, self.scanner.pos(), open)
    }

    /// Counts on, to tell how many there are.
    #[cold]
    fn too_many(&mut self, dim: usize, open: usize) -> Fault {
        if let Some(fault) = fault::elided(self.scanner) {
            return fault;
        }
        let excess = self.scanner.pos();
        let mut given = self.shape.dims[dim];
        loop {
            match self.scanner.skip_noise().map(|()| self.scanner.peek()) {
                Err(fault) => return fault,
                Ok(None) => return fault::expected(self.scanner, &self.closing_brace(dim)),
                Ok(Some(b'}')) => return self.wrong_count(dim, given, excess, open),
                Ok(Some(_)) => {}
            }
            if !skip_item(self.scanner) {
                return self.scanner.fault(
                    SYNTAX,
                    excess,
                    self.scanner.token_end(excess),
                    format!("expected {}", self.closing_brace(dim)),
                );
            }
            given += 1;
        }
    }

    fn closing_brace(&self, dim: usize) -> String {
        format!("`}}` of dimension {dim} of {}", self.shape)
    }

    fn wrong_count(&self, dim: usize, given: i64, at: usize, open: usize) -> Fault {
        let (shape, wanted) = (self.shape, self.shape.dims[dim]);
        let message =
            format!("dimension {dim} of {shape} has size {wanted}, but the literal gives {given}");
        let mut fault = self
            .scanner
            .fault(COUNT, at, self.scanner.token_end(at), message);
        let label = self.scanner.fault(COUNT, open, open + 1, "").primary.span;
        fault.secondary.push(hloc_diag::Label {
            span: label,
            text: format!("dimension {dim} begins here"),
        });
        fault
    }
}

/// Skips a value or a balanced group of braces or parentheses; `false` if there is neither.
fn skip_item(scanner: &mut Scanner<'_>) -> bool {
    let mut depth = 0usize;
    loop {
        let end = scanner.token_end(scanner.pos());
        match scanner.peek() {
            None => return false,
            Some(b'{' | b'(') => depth += 1,
            Some(b'}' | b')') if depth == 0 => return false,
            Some(b'}' | b')') => depth -= 1,
            Some(_) => {}
        }
        scanner.set_pos(end);
        if depth == 0 {
            return true;
        }
        if scanner.skip_noise().is_err() {
            return false;
        }
    }
}
