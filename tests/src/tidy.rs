//! Rules about the repository, as tests. `HLOC_BLESS=1` rewrites generated tables in documents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hloc_tests::{files_below, repository, tables};

const MAX_LINES: usize = 800;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["crates", "examples", "tests"] {
        files.extend(
            files_below(&repository().join(folder), ".rs").expect("source folders can be read"),
        );
    }
    files
}

fn shown(path: &Path) -> String {
    path.strip_prefix(repository())
        .unwrap_or(path)
        .display()
        .to_string()
}

#[test]
fn files_begin_with_what_they_are_for_and_stay_short() {
    for file in rust_files() {
        let text = read(&file);
        assert!(
            text.starts_with("//!"),
            "{} does not begin with `//!`",
            shown(&file)
        );
        let lines = text.lines().count();
        assert!(
            lines <= MAX_LINES,
            "{} has {lines} lines, more than {MAX_LINES}",
            shown(&file)
        );
    }
}

/// The crates a manifest depends on, outside of tests.
fn hloc_dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("[dependencies]").nth(1).unwrap_or("");
    let section = section.split("\n[").next().unwrap_or("");
    let names = section
        .lines()
        .filter_map(|line| line.split_once('.').map(|(name, _)| name));
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with("hloc"))
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

/// The rows of the crate table: crate and the hloc crates it may use.
fn documented_crates() -> BTreeMap<String, Vec<String>> {
    let text = read(&repository().join("docs/architecture.md"));
    let mut crates = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `hloc")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').to_owned();
        let mut uses: Vec<String> = cells[3]
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty() && *name != "–")
            .map(|name| {
                if name == "hloc" {
                    name.to_owned()
                } else {
                    format!("hloc-{name}")
                }
            })
            .collect();
        uses.sort();
        crates.insert(name, uses);
    }
    crates
}

#[test]
fn the_crate_table_says_what_the_manifests_say() {
    let mut found = BTreeMap::new();
    for manifest in
        files_below(&repository().join("crates"), "Cargo.toml").expect("crates can be read")
    {
        let name = manifest
            .parent()
            .and_then(Path::file_name)
            .expect("manifests lie in folders");
        found.insert(
            name.to_string_lossy().into_owned(),
            hloc_dependencies(&read(&manifest)),
        );
    }
    let tests = read(&repository().join("tests/Cargo.toml"));
    found.insert("hloc-tests".to_owned(), hloc_dependencies(&tests));
    assert_eq!(
        documented_crates(),
        found,
        "docs/architecture.md differs from the manifests"
    );
}

#[test]
fn unsafe_lies_in_the_documented_files() {
    let mut found: Vec<String> = rust_files()
        .iter()
        .filter(|file| {
            let text = read(file);
            ["unsafe {", "unsafe fn", "unsafe impl"]
                .iter()
                .any(|word| text.contains(word))
        })
        .map(|file| shown(file))
        .filter(|file| file != "tests/src/tidy.rs")
        .collect();
    found.sort();
    let text = read(&repository().join("docs/architecture.md"));
    let section = text
        .split("## Where `unsafe` lies")
        .nth(1)
        .expect("docs/architecture.md lists unsafe files");
    let section = section.split("\n## ").next().unwrap_or("");
    let mut documented: Vec<String> = section
        .lines()
        .filter_map(|line| line.strip_prefix("- `")?.split_once('`'))
        .map(|(file, _)| file.to_owned())
        .collect();
    documented.sort();
    assert_eq!(documented, found);
}

/// Compares a generated table with the document, or rewrites it when asked to.
fn check_table(document: &str, name: &str, table: &str) {
    let path = repository().join(document);
    let text = read(&path);
    let wanted = tables::with_table(&text, name, table)
        .unwrap_or_else(|error| panic!("{document}: {error}"));
    if std::env::var_os("HLOC_BLESS").is_some() {
        std::fs::write(&path, wanted).expect("documents can be written");
    } else {
        assert!(
            text == wanted,
            "the table `{name}` in {document} is stale: run with HLOC_BLESS=1"
        );
    }
}

#[test]
fn opcode_tables_are_those_of_the_code() {
    check_table("README.md", "opcodes", &tables::support_summary());
    check_table("docs/opcodes.md", "opcodes", &tables::opcode_table());
}

#[test]
fn every_pass_is_documented_and_has_filetests() {
    let text = read(&repository().join("docs/passes.md"));
    for pass in hloc_passes::PASSES {
        let name = pass.name();
        assert!(
            text.contains(&format!("## {name}\n")),
            "docs/passes.md has no section `{name}`"
        );
        let folder = repository().join("tests/filetests/passes").join(name);
        let files = files_below(&folder, ".hlo").unwrap_or_default();
        assert!(!files.is_empty(), "no filetest in {}", shown(&folder));
    }
}

#[test]
fn every_executed_opcode_has_a_run_test() {
    let files = files_below(&repository().join("tests/filetests/run"), ".hlo")
        .expect("run tests can be read");
    let texts: Vec<String> = files.iter().map(|file| read(file)).collect();
    let without_values = ["after-all", "add-dependency", "domain", "opt-barrier"];
    for op in hloc_ir::Opcode::all().filter(|op| op.support() != hloc_ir::Support::Checked) {
        let used = |text: &String| text.contains(&format!(" {op}("));
        assert!(
            texts.iter().any(used) || without_values.contains(&op.name()),
            "no file below tests/filetests/run uses `{op}`"
        );
    }
}

#[test]
fn every_lint_has_a_filetest() {
    for code in hloc_verify::LINTS {
        let file = repository().join(format!("tests/filetests/lint/{code}.hlo"));
        assert!(
            read(&file).contains(&format!("// warning: {code}")),
            "{} expects no {code}",
            shown(&file)
        );
    }
}

#[test]
fn documents_link_to_files_that_exist() {
    let mut documents = files_below(&repository().join("docs"), ".md").expect("docs can be read");
    documents.push(repository().join("README.md"));
    for document in documents {
        let text = read(&document);
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'))
            .map(|(target, _)| target);
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let path = document
                .parent()
                .unwrap_or(Path::new("."))
                .join(target.split('#').next().unwrap_or(""));
            assert!(
                path.exists(),
                "{} links to {target}, which does not exist",
                shown(&document)
            );
        }
    }
}
