//! ThreeFry-2x32 with 20 rounds.

use hloc_ir::ArrayShape;

use super::halves;

/// Mixed into the keys so that none is a weak one.
const PARITY: u32 = 0x1BD1_1BDA;

/// Fills `target` with random elements of `shape`; gives the counter after them.
///
/// Elements of 64 bits take a block each. Of narrower ones, both words of a block are neighbors along
/// the first dimension of even size, or else along the largest, whose last half block is cut.
pub(super) fn fill(key: u64, counter: u64, shape: &ArrayShape, target: &mut [u8]) -> u64 {
    let size = shape.element_type.size();
    let block = |number: usize| encrypt(key, counter.wrapping_add(number as u64));
    if size == 8 {
        let elements = target.chunks_exact_mut(8);
        let count = elements.len();
        for (number, element) in elements.enumerate() {
            let (low, high) = block(number);
            element[..4].copy_from_slice(&low.to_le_bytes());
            element[4..].copy_from_slice(&high.to_le_bytes());
        }
        return counter.wrapping_add(count as u64);
    }
    let Some(dim) = split_dimension(&shape.dims) else {
        target.copy_from_slice(&block(0).0.to_le_bytes()[..size]);
        return counter.wrapping_add(1);
    };
    if target.is_empty() {
        return counter;
    }
    let extent = shape.dims[dim] as usize;
    let inner: usize = shape.dims[dim + 1..]
        .iter()
        .map(|dim| *dim as usize)
        .product();
    let mut number = 0;
    for slab in target.chunks_exact_mut(extent * inner * size) {
        for pair in slab.chunks_mut(2 * inner * size) {
            let (first, second) = pair.split_at_mut(inner * size);
            for at in 0..inner {
                let (low, high) = block(number);
                number += 1;
                let range = at * size..(at + 1) * size;
                first[range.clone()].copy_from_slice(&low.to_le_bytes()[..size]);
                if let Some(element) = second.get_mut(range) {
                    element.copy_from_slice(&high.to_le_bytes()[..size]);
                }
            }
        }
    }
    counter.wrapping_add(number as u64)
}

/// The first dimension of even size, else the first of the largest; `None` for a scalar.
fn split_dimension(dims: &[i64]) -> Option<usize> {
    let even = dims.iter().position(|dim| dim % 2 == 0);
    even.or_else(|| {
        let largest = dims.iter().max()?;
        dims.iter().position(|dim| dim == largest)
    })
}

/// The two words of block `counter`.
fn encrypt(key: u64, counter: u64) -> (u32, u32) {
    let (k0, k1) = halves(key);
    let k2 = k0 ^ k1 ^ PARITY;
    let (x0, x1) = halves(counter);
    let mut x = (x0.wrapping_add(k0), x1.wrapping_add(k1));
    x = inject(rounds(x, [13, 15, 26, 6]), k1, k2, 1);
    x = inject(rounds(x, [17, 29, 16, 24]), k2, k0, 2);
    x = inject(rounds(x, [13, 15, 26, 6]), k0, k1, 3);
    x = inject(rounds(x, [17, 29, 16, 24]), k1, k2, 4);
    inject(rounds(x, [13, 15, 26, 6]), k2, k0, 5)
}

fn rounds(mut x: (u32, u32), rotations: [u32; 4]) -> (u32, u32) {
    for rotation in rotations {
        x.0 = x.0.wrapping_add(x.1);
        x.1 = x.1.rotate_left(rotation) ^ x.0;
    }
    x
}

fn inject(x: (u32, u32), first: u32, second: u32, round: u32) -> (u32, u32) {
    (
        x.0.wrapping_add(first),
        x.1.wrapping_add(second).wrapping_add(round),
    )
}

#[cfg(test)]
mod tests {
    use super::encrypt;

    /// The known answers of the Random123 library.
    #[test]
    fn known_answers() {
        let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        assert_eq!(encrypt(0, 0), (0x6b20_0159, 0x99ba_4efe));
        assert_eq!(encrypt(u64::MAX, u64::MAX), (0x1cb9_96fc, 0xbb00_2be7));
        assert_eq!(
            encrypt(
                join(0x1319_8a2e, 0x0370_7344),
                join(0x243f_6a88, 0x85a3_08d3)
            ),
            (0xc492_3a9c, 0x483d_f7a0)
        );
    }
}
