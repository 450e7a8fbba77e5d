//! The text header of an `.npy` file: a Python dictionary of three entries.

use std::io::Read;

use crate::TensorError;
use crate::npy::NpyKind;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header read. NumPy itself refuses beyond 10,000 bytes; plain arrays need about 100.
const MAX_HEADER_BYTES: usize = 1 << 16;

/// One element's type in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemType {
    pub(crate) kind: NpyKind,
    pub(crate) size: usize,
    big_endian: bool,
}

impl ItemType {
    /// A type in the machine's byte order.
    pub(crate) fn machine_order(kind: NpyKind, size: usize) -> ItemType {
        ItemType {
            kind,
            size,
            big_endian: cfg!(target_endian = "big"),
        }
    }

    /// Reads a spelling such as `<f4`.
    fn parse(descr: &str) -> Result<ItemType, TensorError> {
        let unsupported = || TensorError::UnsupportedNpyType {
            descr: descr.to_owned(),
        };
        let mut chars = descr.chars();
        let big_endian = match chars.next() {
            Some('<') => false,
            Some('>') => true,
            Some('|' | '=') => cfg!(target_endian = "big"),
            _ => return Err(unsupported()),
        };
        let code = chars.next().ok_or_else(unsupported)?;
        let size: usize = chars.as_str().parse().map_err(|_| unsupported())?;
        let kind = match (code, size) {
            ('b', 1) => NpyKind::Bool,
            ('i', 1 | 2 | 4 | 8) => NpyKind::Signed,
            ('u', 1 | 2 | 4 | 8) => NpyKind::Unsigned,
            ('f', 1 | 2 | 4 | 8) => NpyKind::Float,
            ('c', 8 | 16) => NpyKind::Complex,
            ('V', 1 | 2) => NpyKind::Raw,
            _ => return Err(unsupported()),
        };
        Ok(ItemType {
            kind,
            size,
            big_endian,
        })
    }

    /// The spelling: `<f4`, `|V2`.
    pub(crate) fn descr(&self) -> String {
        let code = match self.kind {
            NpyKind::Bool => 'b',
            NpyKind::Signed => 'i',
            NpyKind::Unsigned => 'u',
            NpyKind::Float => 'f',
            NpyKind::Complex => 'c',
            NpyKind::Raw => 'V',
        };
        let order = match (self.size, self.kind, self.big_endian) {
            (1, ..) | (_, NpyKind::Raw, _) => '|',
            (_, _, false) => '<',
            (_, _, true) => '>',
        };
        format!("{order}{code}{}", self.size)
    }

    /// Turns bytes in the file's order into the machine's.
    pub(crate) fn to_machine_order(self, bytes: &mut [u8]) {
        if self.big_endian == cfg!(target_endian = "big") {
            return;
        }
        let number_size = if self.kind == NpyKind::Complex {
            self.size / 2
        } else {
            self.size
        };
        bytes
            .chunks_exact_mut(number_size)
            .for_each(<[u8]>::reverse);
    }
}

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) item: ItemType,
    pub(crate) fortran_order: bool,
    pub(crate) dims: Vec<i64>,
}

impl Header {
    /// Reads a header; afterwards the reader is at the data.
    pub(crate) fn read(reader: &mut impl Read) -> Result<Header, TensorError> {
        let mut start = [0; 8];
        read_exact(reader, &mut start)?;
        if start[..6] != *MAGIC {
            return Err(malformed("it does not start with the NumPy signature"));
        }
        let length = match (start[6], start[7]) {
            (1, 0) => {
                let mut length = [0; 2];
                read_exact(reader, &mut length)?;
                usize::from(u16::from_le_bytes(length))
            }
            (2 | 3, 0) => {
                let mut length = [0; 4];
                read_exact(reader, &mut length)?;
                u32::from_le_bytes(length) as usize
            }
            (major, minor) => {
                return Err(malformed(format!(
                    "format version {major}.{minor} is unknown"
                )));
            }
        };
        if length > MAX_HEADER_BYTES {
            return Err(malformed(format!(
                "its header of {length} bytes is longer than {MAX_HEADER_BYTES}"
            )));
        }
        let mut text = vec![0; length];
        read_exact(reader, &mut text)?;
        let text = std::str::from_utf8(&text).map_err(|_| malformed("its header is not UTF-8"))?;
        HeaderText { rest: text }.header()
    }

    /// The whole header as version 1.0, padded so that the data starts at a multiple of 64 bytes.
    ///
    /// Falls back to version 2.0, whose length field is wider, when the dimensions need it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let dims = match &self.dims[..] {
            [only] => format!("({only},)"),
            dims => format!(
                "({})",
                dims.iter()
                    .map(i64::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        let order = if self.fortran_order { "True" } else { "False" };
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': {dims}, }}",
            self.item.descr()
        );
        let wide = text.len() > usize::from(u16::MAX) - 64;
        let prefix = if wide { 12 } else { 10 };
        let padding = (prefix + text.len() + 1).next_multiple_of(64) - (prefix + text.len() + 1);
        text.extend(std::iter::repeat_n(' ', padding));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(if wide { &[2, 0] } else { &[1, 0] });
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes()[..prefix - 8]);
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }
}

/// The part of a header's text that is still to be read.
struct HeaderText<'a> {
    rest: &'a str,
}

impl<'a> HeaderText<'a> {
    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, entries in any order.
    fn header(mut self) -> Result<Header, TensorError> {
        let (mut item, mut fortran_order, mut dims) = (None, None, None);
        self.expect('{')?;
        while !self.accept('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => item = Some(self.item_type()?),
                "fortran_order" => fortran_order = Some(self.boolean()?),
                "shape" => dims = Some(self.dims()?),
                _ => {
                    return Err(malformed(format!(
                        "its header has an unknown entry `{key}`"
                    )));
                }
            }
            if !self.accept(',') {
                self.expect('}')?;
                break;
            }
        }
        let missing = |key: &str| malformed(format!("its header lacks `{key}`"));
        Ok(Header {
            item: item.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            dims: dims.ok_or_else(|| missing("shape"))?,
        })
    }

    fn accept(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), TensorError> {
        if self.accept(wanted) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{wanted}`")))
        }
    }

    fn unexpected(&self, wanted: &str) -> TensorError {
        let found: String = self.rest.trim_start().chars().take(20).collect();
        malformed(format!("its header has `{found}` where {wanted} should be"))
    }

    /// A string without escapes; no entry of a plain array's header needs one.
    fn string(&mut self) -> Result<&'a str, TensorError> {
        let quote = if self.accept('\'') { '\'' } else { '"' };
        if quote == '"' {
            self.expect('"')?;
        }
        let (string, rest) = self
            .rest
            .split_once(quote)
            .ok_or_else(|| self.unexpected("a closing quote"))?;
        self.rest = rest;
        Ok(string)
    }

    fn item_type(&mut self) -> Result<ItemType, TensorError> {
        if self.rest.trim_start().starts_with(['[', '(']) {
            return Err(TensorError::UnsupportedNpyType {
                descr: "structure".to_owned(),
            });
        }
        ItemType::parse(self.string()?)
    }

    fn boolean(&mut self) -> Result<bool, TensorError> {
        let text = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = text.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("`True` or `False`"))
    }

    fn dims(&mut self) -> Result<Vec<i64>, TensorError> {
        let mut dims = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            let text = self.rest.trim_start();
            let end = text
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len());
            let dim = text[..end]
                .parse()
                .map_err(|_| self.unexpected("a dimension"))?;
            dims.push(dim);
            self.rest = &text[end..];
            self.accept('L'); // Python 2 wrote long integers as `3L`.
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(dims)
    }
}

fn malformed(message: impl Into<String>) -> TensorError {
    TensorError::MalformedNpy(message.into())
}

fn read_exact(reader: &mut impl Read, buffer: &mut [u8]) -> Result<(), TensorError> {
    reader.read_exact(buffer).map_err(|error| {
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            malformed("it ends within the header")
        } else {
            TensorError::Io(error)
        }
    })
}
