//! How blocks spread over arrays.

use hloc_ir::words::RngAlgorithm;
use hloc_ir::{ArrayShape, ElementType};
use hloc_loops::routine::{Routine as Asked, RoutineCall};

use super::RngBits;
use crate::pool::WorkerPool;
use crate::routine::Routine;

fn bits(algorithm: RngAlgorithm, state: &[u64], dims: &[i64]) -> (Vec<u64>, Vec<u32>) {
    let state_shape = ArrayShape::new(ElementType::U64, &[state.len() as i64]);
    let shape = ArrayShape::new(ElementType::U32, dims);
    let count = dims.iter().product::<i64>() as usize;
    let call = RoutineCall {
        routine: Asked::RngBits { algorithm },
        inputs: vec![state_shape.clone()],
        outputs: vec![state_shape, shape],
    };
    let generator = RngBits::new(&call, algorithm).expect("sound");
    let (mut new_state, mut result) = (state.to_vec(), vec![0u32; count]);
    generator.run(
        &[bytemuck::cast_slice(state)],
        &mut [
            bytemuck::cast_slice_mut(&mut new_state),
            bytemuck::cast_slice_mut(&mut result),
        ],
        &WorkerPool::new(1),
    );
    (new_state, result)
}

#[test]
fn both_words_of_a_block_are_neighbors() {
    let (state, pair) = bits(RngAlgorithm::ThreeFry, &[0, 0], &[2]);
    assert_eq!(pair, [0x6b20_0159, 0x99ba_4efe]);
    assert_eq!(state, [0, 1]);
    let (state, column) = bits(RngAlgorithm::ThreeFry, &[0, 0], &[2, 1]);
    assert_eq!((state[1], column), (1, pair.clone()));
    let (state, odd) = bits(RngAlgorithm::ThreeFry, &[0, 0], &[3]);
    assert_eq!((state[1], &odd[..2]), (2, &pair[..]));
}

#[test]
fn counters_count_blocks_and_carry() {
    let (state, _) = bits(RngAlgorithm::Philox, &[7, u64::MAX, 1], &[5]);
    assert_eq!(state, [7, 1, 2]);
    let (state, _) = bits(RngAlgorithm::Default, &[7, 3], &[4]);
    assert_eq!(state, [7, 4]);
}
