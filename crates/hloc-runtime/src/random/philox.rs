//! Philox-4x32 with 10 rounds.

use super::halves;

/// Fills `target` with random elements of `size` bytes; gives the counter after them.
///
/// Words are taken in order, two for an element of 64 bits, else one, of which the low bits count.
pub(super) fn fill(key: u64, counter: u128, size: usize, target: &mut [u8]) -> u128 {
    let (word, per_block) = if size == 8 { (8, 2) } else { (size, 4) };
    let mut number = 0u128;
    for elements in target.chunks_mut(word * per_block) {
        let words = encrypt(key, counter.wrapping_add(number));
        number += 1;
        let mut bytes = [0; 16];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let source = bytes.chunks_exact(16 / per_block);
        for (element, from) in elements.chunks_exact_mut(word).zip(source) {
            element.copy_from_slice(&from[..word]);
        }
    }
    counter.wrapping_add(number)
}

/// The four words of block `counter`.
fn encrypt(key: u64, counter: u128) -> [u32; 4] {
    let (mut k0, mut k1) = halves(key);
    let ((mut x0, mut x1), (mut x2, mut x3)) =
        (halves(counter as u64), halves((counter >> 64) as u64));
    for _ in 0..10 {
        let (low0, high0) = halves(u64::from(x0) * 0xD251_1F53);
        let (low1, high1) = halves(u64::from(x2) * 0xCD9E_8D57);
        (x0, x1, x2, x3) = (high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [x0, x1, x2, x3]
}

#[cfg(test)]
mod tests {
    use super::encrypt;

    /// The known answers of the Random123 library.
    #[test]
    fn known_answers() {
        assert_eq!(
            encrypt(0, 0),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            encrypt(u64::MAX, u128::MAX),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
    }
}
