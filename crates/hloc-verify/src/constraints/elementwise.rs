//! Element-wise ops and implicit broadcasting.

use super::Constraint;

pub(super) const ELEMENTWISE: &[Constraint] = &[
    Constraint {
        label: "elementwise_c1",
        summary: "The op is defined for the operand's element type; `hloc ops` lists the types of each op.",
    },
    Constraint {
        label: "elementwise_c2",
        summary: "The operands have one element type (those of `select` from the second on).",
    },
    Constraint {
        label: "elementwise_c3",
        summary: "`complex` joins f32 parts to c64 or f64 parts to c128; other floats make no complex number.",
    },
    Constraint {
        label: "elementwise_c4",
        summary: "Operands with as many dimensions have equal sizes, or one of them has size 1 there, which broadcasts: `(2,1)` with `(1,3)` gives `(2,3)`.",
    },
    Constraint {
        label: "elementwise_c5",
        summary: "An operand with fewer dimensions is a scalar, or `broadcast_dimensions` says where its dimensions lie. Nothing is aligned from the right as NumPy does.",
    },
    Constraint {
        label: "elementwise_c6",
        summary: "`broadcast_dimensions` has one number for each dimension of the smaller operand; none for a scalar.",
    },
    Constraint {
        label: "elementwise_c7",
        summary: "Each number of `broadcast_dimensions` is a dimension of the larger operand.",
    },
    Constraint {
        label: "elementwise_c8",
        summary: "The numbers of `broadcast_dimensions` increase strictly.",
    },
    Constraint {
        label: "elementwise_c9",
        summary: "A dimension of the smaller operand has the size of the one it is placed at, or one of the two has size 1: `f32[4] + f32[1,2]` with `{0}` gives `f32[4,2]`.",
    },
    Constraint {
        label: "elementwise_c10",
        summary: "Between operands with as many dimensions `broadcast_dimensions` is left out or names all dimensions in order.",
    },
    Constraint {
        label: "compare_c1",
        summary: "The `type` of `compare` fits the elements: FLOAT or TOTALORDER for floats, FLOAT for complex, SIGNED for signed integers, UNSIGNED for unsigned integers and pred.",
    },
    Constraint {
        label: "compare_c2",
        summary: "Complex numbers are compared by EQ and NE only.",
    },
    Constraint {
        label: "select_c1",
        summary: "The first operand of `select` is pred.",
    },
    Constraint {
        label: "convert_c1",
        summary: "`convert` keeps the sizes.",
    },
    Constraint {
        label: "bitcast_convert_c1",
        summary: "Bits of complex numbers become complex numbers only, and other bits never do.",
    },
    Constraint {
        label: "bitcast_convert_c2",
        summary: "One of the two element widths is a multiple of the other.",
    },
    Constraint {
        label: "bitcast_convert_c3",
        summary: "To join narrower elements the last dimension of the operand has as many as fill a wider one.",
    },
    Constraint {
        label: "bitcast_convert_c4",
        summary: "The result has the operand's sizes; with narrower elements a last dimension more, with wider ones a last dimension less.",
    },
    Constraint {
        label: "reduce_precision_c1",
        summary: "`exponent_bits` is at least 1.",
    },
    Constraint {
        label: "reduce_precision_c2",
        summary: "`mantissa_bits` is at least 0.",
    },
    Constraint {
        label: "stochastic_convert_c1",
        summary: "The random operand has the sizes of the first and unsigned elements as wide as its floats.",
    },
    Constraint {
        label: "stochastic_convert_c2",
        summary: "`stochastic-convert` keeps the sizes.",
    },
];
