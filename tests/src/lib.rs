//! What the test programs of hloc share: directives, stages, literals, random numbers, corpus cases.

pub mod cases;
pub mod directives;
pub mod engines;
pub mod generate;
pub mod literals;
pub mod mutate;
pub mod random;
pub mod shrink;
pub mod stages;
pub mod tables;
pub mod ulps;
pub mod worker;

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Every file below `dir` whose name ends in `suffix`, sorted by path.
///
/// # Errors
/// Those of reading directories.
pub fn files_below(dir: &Path, suffix: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(suffix) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
