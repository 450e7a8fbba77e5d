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

/// Reads those members of the archive at `path` whose name, without `.npy`, is `wanted`.
///
/// The others cost nothing, whatever they hold.
///
/// # Errors
///
/// As for [`read`].
pub fn read_where(
    path: impl AsRef<Path>,
    mut wanted: impl FnMut(&str) -> bool,
) -> Result<Vec<(String, NpyArray)>, TensorError> {
    read_members(BufReader::new(File::open(path)?), &mut wanted)
}

/// Reads all members of an archive; see [`read`].
///
/// # Errors
///
/// As for [`read`].
pub fn read_from(reader: impl Read + Seek) -> Result<Vec<(String, NpyArray)>, TensorError> {
    read_members(reader, &mut |_| true)
}

fn read_members(
    reader: impl Read + Seek,
    wanted: &mut dyn FnMut(&str) -> bool,
) -> Result<Vec<(String, NpyArray)>, TensorError> {
    let mut archive = ZipArchive::new(reader).map_err(archive_error)?;
    let mut arrays = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let member = archive.by_index(index).map_err(archive_error)?;
        let file_name = member.name().map_err(archive_error)?.into_owned();
        let name = file_name.strip_suffix(".npy");
        if !wanted(name.unwrap_or(&file_name)) {
            continue;
        }
        let Some(name) = name else {
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

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::{npy, read_from, write_to};
    use crate::{Array, ElementType, TensorError};

    #[test]
    fn arrays_survive_an_archive_in_order() {
        let arrays = [
            (
                "b".to_owned(),
                Array::from_slice(&[2], &[1.5f32, 2.5]).expect("two elements"),
            ),
            ("a".to_owned(), Array::scalar(true)),
        ];
        let mut archive = Cursor::new(Vec::new());
        write_to(&mut archive, &arrays).expect("written");
        let back = read_from(archive).expect("readable");
        assert_eq!(
            back.iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
            ["b", "a"]
        );
        for ((_, array), (_, want)) in back.into_iter().zip(&arrays) {
            assert_eq!(
                array.into_array(want.element_type()).expect("its own type"),
                *want
            );
        }
    }

    /// An archive with one member.
    fn archive(name: &str, method: CompressionMethod, contents: &[u8]) -> Cursor<Vec<u8>> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(name, options).expect("started");
        writer.write_all(contents).expect("written");
        writer.finish().expect("finished")
    }

    #[test]
    fn compressed_members_are_read() {
        let array = Array::zeros(ElementType::F64, &[1000]).expect("small");
        let mut contents = Vec::new();
        npy::write(&mut contents, &array).expect("written");
        let archive = archive("x.npy", CompressionMethod::Deflated, &contents);
        assert!(archive.get_ref().len() < 1000);
        let (name, back) = read_from(archive).expect("readable").remove(0);
        assert_eq!(
            (
                name.as_str(),
                back.into_array(ElementType::F64).expect("f64")
            ),
            ("x", array)
        );
    }

    #[test]
    fn broken_archives_are_refused() {
        assert!(matches!(
            read_from(Cursor::new(b"not a zip")),
            Err(TensorError::MalformedNpz(_))
        ));
        let error =
            read_from(archive("x.txt", CompressionMethod::Stored, b"")).expect_err("no array");
        assert_eq!(
            error.to_string(),
            "not a readable .npz archive: member `x.txt` is not an .npy file"
        );
        let error = read_from(archive("x.npy", CompressionMethod::Stored, b"")).expect_err("empty");
        assert_eq!(error.to_string(), "in member `x`");
        let duplicates = ["x", "x"].map(|name| (name.to_owned(), Array::scalar(1i8)));
        assert!(write_to(Cursor::new(Vec::new()), &duplicates).is_err());
    }
}
