//! NumPy's `.npz` format: a zip archive of `.npy` files, as `numpy.savez` and `numpy.savez_compressed` write it.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::npy::{self, NpyArray};
use crate::{Array, TensorError};

/// Reads all members of the archive at `path`, in the archive's order, by name without `.npy`.
///
/// # Errors
///
/// [`TensorError::MalformedNpz`] when it is no archive, [`TensorError::Member`] when a member is no
/// readable `.npy` file, [`TensorError::Io`] when reading fails.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<(String, NpyArray)>, TensorError> {
    read_from(BufReader::new(File::open(path)?))
}

/// Reads all members of an archive; see [`read`].
///
/// # Errors
///
/// As for [`read`].
pub fn read_from(reader: impl Read + Seek) -> Result<Vec<(String, NpyArray)>, TensorError> {
    let mut archive = ZipArchive::new(reader).map_err(archive_error)?;
    let mut arrays = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let member = archive.by_index(index).map_err(archive_error)?;
        let file_name = member.name().map_err(archive_error)?.into_owned();
        let Some(name) = file_name.strip_suffix(".npy") else {
            return Err(TensorError::MalformedNpz(format!(
                "member `{file_name}` is not an .npy file"
            )));
        };
        let array = npy::read(member).map_err(|source| in_member(name, source))?;
        arrays.push((name.to_owned(), array));
    }
    Ok(arrays)
}

/// Writes these arrays, uncompressed, to a new archive at `path` that `numpy.load` reads.
///
/// Types that NumPy lacks come back as raw bytes there: `load(...)["x"].view(ml_dtypes.bfloat16)`.
///
/// # Errors
///
/// [`TensorError::Io`] when writing fails, [`TensorError::MalformedNpz`] when two arrays have one name.
pub fn write(path: impl AsRef<Path>, arrays: &[(String, Array)]) -> Result<(), TensorError> {
    write_to(BufWriter::new(File::create(path)?), arrays)
}

/// Writes these arrays as an archive; see [`write()`].
///
/// # Errors
///
/// As for [`write()`].
pub fn write_to(writer: impl Write + Seek, arrays: &[(String, Array)]) -> Result<(), TensorError> {
    /// More than any `.npy` header with fewer than thousands of dimensions.
    const HEADER_ROOM: usize = 1 << 20;
    let mut archive = ZipWriter::new(writer);
    for (name, array) in arrays {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(array.bytes().len() + HEADER_ROOM > u32::MAX as usize);
        archive
            .start_file(format!("{name}.npy"), options)
            .map_err(archive_error)?;
        npy::write(&mut archive, array).map_err(|source| in_member(name, source))?;
    }
    archive.finish().map_err(archive_error)?.flush()?;
    Ok(())
}

fn in_member(name: &str, source: TensorError) -> TensorError {
    TensorError::Member {
        name: name.to_owned(),
        source: Box::new(source),
    }
}

fn archive_error(error: ZipError) -> TensorError {
    if let ZipError::Io(error) = error {
        return TensorError::Io(error);
    }
    TensorError::MalformedNpz(error.to_string())
}
