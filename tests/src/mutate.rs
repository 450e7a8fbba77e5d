//! Damaged programs: what a hostile or broken input looks like.

use std::time::{Duration, Instant};

use hloc_diag::Source;

use crate::random::Random;

/// The longest that hloc may take to refuse or compile a damaged program.
pub const TIME_LIMIT: Duration = Duration::from_secs(2);

/// `text` with one to three kinds of damage: bytes flipped, lines dropped or doubled, numbers changed,
/// the end cut off.
pub fn mutated(text: &str, random: &mut Random) -> String {
    let mut damaged = text.to_owned();
    for _ in 0..=random.below(3) {
        damaged = match random.below(6) {
            0 => flip_byte(&damaged, random),
            1 => without_line(&damaged, random),
            2 => doubled_line(&damaged, random),
            3 => cut(&damaged, random),
            4 => swapped_words(&damaged, random),
            _ => changed_number(&damaged, random),
        };
    }
    damaged
}

fn flip_byte(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] = if random.one_in(2) {
            bytes[at] ^ (1 << random.below(7))
        } else {
            *random.pick(b"{}(),=%[]<>x-0\"")
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn without_line(text: &str, random: &mut Random) -> String {
    let mut lines = lines(text);
    if !lines.is_empty() {
        lines.remove(random.below(lines.len()));
    }
    lines.concat()
}

fn doubled_line(text: &str, random: &mut Random) -> String {
    let mut lines = lines(text);
    if !lines.is_empty() {
        let line = lines[random.below(lines.len())];
        lines.insert(random.below(lines.len()), line);
    }
    lines.concat()
}

fn cut(text: &str, random: &mut Random) -> String {
    let mut at = random.below(text.len().max(1));
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    text[..at].to_owned()
}

/// Exchanges two words, so that names, types and opcodes stand where they should not.
fn swapped_words(text: &str, random: &mut Random) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', ',', '(', '\n']).collect();
    if words.len() > 1 {
        let (a, b) = (random.below(words.len()), random.below(words.len()));
        words.swap(a, b);
    }
    words.concat()
}

fn changed_number(text: &str, random: &mut Random) -> String {
    let starts: Vec<usize> = number_starts(text);
    if starts.is_empty() {
        return text.to_owned();
    }
    let at = starts[random.below(starts.len())];
    let end = text[at..]
        .find(|c: char| !c.is_ascii_digit())
        .map_or(text.len(), |length| at + length);
    let replacements = [
        "0",
        "1",
        "-1",
        "7",
        "63",
        "65",
        "4096",
        "2147483648",
        "9223372036854775807",
        "99999999999999999999",
    ];
    format!(
        "{}{}{}",
        &text[..at],
        random.pick(&replacements),
        &text[end..]
    )
}

fn number_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let starts = |at: &usize| {
        bytes[*at].is_ascii_digit() && (*at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
    };
    (0..bytes.len()).filter(starts).collect()
}

/// Compiles a damaged program, if it can be; gives an error for a panic or for taking too long.
///
/// # Errors
/// What hloc did wrong.
pub fn survives(text: &str) -> Result<(), String> {
    let start = Instant::now();
    let outcome = std::panic::catch_unwind(|| {
        if let Ok(source) = Source::new("damaged", text) {
            let refused = !crate::stages::diagnose(&source).is_empty();
            if !refused {
                drop(hloc::Compiler::new().threads(1).compile(text));
            }
        }
    });
    if outcome.is_err() {
        return Err("panicked".to_owned());
    }
    let took = start.elapsed();
    if took > TIME_LIMIT {
        Err(format!("took {took:?}"))
    } else {
        Ok(())
    }
}
