//! Calls, loops, tuples, devices and tokens.

use super::Constraint;

pub(super) const CONTROL: &[Constraint] = &[
    Constraint {
        label: "while_c1",
        summary: "Condition and body have one parameter.",
    },
    Constraint {
        label: "while_c2",
        summary: "The parameter of condition and body has the shape of the carried value.",
    },
    Constraint {
        label: "while_c3",
        summary: "The condition gives pred[].",
    },
    Constraint {
        label: "while_c4",
        summary: "The body gives the shape of the carried value.",
    },
    Constraint {
        label: "conditional_c1",
        summary: "The index is pred[] or s32[].",
    },
    Constraint {
        label: "conditional_c2",
        summary: "A pred index comes with `true_computation` and `false_computation`, an s32 index with `branch_computations`.",
    },
    Constraint {
        label: "conditional_c3",
        summary: "There is one operand for each branch after the index.",
    },
    Constraint {
        label: "conditional_c4",
        summary: "Each branch has one parameter.",
    },
    Constraint {
        label: "conditional_c5",
        summary: "The parameter of a branch has the shape of its operand.",
    },
    Constraint {
        label: "conditional_c6",
        summary: "All branches give one shape.",
    },
    Constraint {
        label: "call_c1",
        summary: "The computation has one parameter for each operand.",
    },
    Constraint {
        label: "call_c2",
        summary: "Each parameter has the shape of its operand.",
    },
    Constraint {
        label: "call_c3",
        summary: "A composite call has a `composite.name` in its frontend_attributes.",
    },
    Constraint {
        label: "fusion_c1",
        summary: "The fused computation has one parameter for each operand.",
    },
    Constraint {
        label: "fusion_c2",
        summary: "Each parameter has the shape of its operand.",
    },
    Constraint {
        label: "fusion_c3",
        summary: "The root of a fused computation has no user.",
    },
    Constraint {
        label: "fusion_c4",
        summary: "Every instruction of a fused computation but root and parameters is used or does something besides giving a value.",
    },
    Constraint {
        label: "fusion_c5",
        summary: "A computation is fused by one `fusion` only.",
    },
    Constraint {
        label: "scan_c1",
        summary: "`dimensions` holds one number.",
    },
    Constraint {
        label: "scan_c2",
        summary: "`num_carries` is not negative and not more than the operands.",
    },
    Constraint {
        label: "scan_c3",
        summary: "The computation has one parameter for each operand.",
    },
    Constraint {
        label: "scan_c4",
        summary: "The dimension is one of every input.",
    },
    Constraint {
        label: "scan_c5",
        summary: "Inputs have one size along the dimension.",
    },
    Constraint {
        label: "scan_c6",
        summary: "Parameters have the shapes of the inputs without the dimension, then of the carried values.",
    },
    Constraint {
        label: "scan_c7",
        summary: "The result lists what each step gives with the dimension put in, then the carried values, which keep their shapes.",
    },
    Constraint {
        label: "get_tuple_element_c1",
        summary: "The operand is a tuple.",
    },
    Constraint {
        label: "get_tuple_element_c2",
        summary: "The tuple has an element of this index.",
    },
    Constraint {
        label: "after_all_c1",
        summary: "The operands are tokens.",
    },
    Constraint {
        label: "add_dependency_c1",
        summary: "The second operand is a token.",
    },
    Constraint {
        label: "custom_call_c1",
        summary: "`custom_call_target` is not empty.",
    },
    Constraint {
        label: "custom_call_c2",
        summary: "`operand_layout_constraints` has one shape for each operand.",
    },
    Constraint {
        label: "custom_call_c3",
        summary: "Each shape in `operand_layout_constraints` has the element type and sizes of its operand.",
    },
    Constraint {
        label: "collective_c1",
        summary: "`replica_groups` hold the devices 0 to n-1 once each, no group is empty, and groups are of one size where the op needs it.",
    },
    Constraint {
        label: "collective_c2",
        summary: "The computation combines two scalars to one.",
    },
    Constraint {
        label: "collective_c3",
        summary: "`dimensions` holds one dimension of every operand.",
    },
    Constraint {
        label: "collective_c4",
        summary: "With `dimensions` there is one operand.",
    },
    Constraint {
        label: "collective_c5",
        summary: "Along `dimensions` an `all-gather` multiplies the size by the number of devices in a group and a `reduce-scatter` divides it; everything else stays.",
    },
    Constraint {
        label: "collective_c6",
        summary: "`all-to-all` splits a size that the number of devices in a group divides, or has one operand for each device of a group.",
    },
    Constraint {
        label: "collective_c7",
        summary: "`use_global_device_ids` comes with a `channel_id`.",
    },
    Constraint {
        label: "collective_permute_c1",
        summary: "No device is source twice or target twice.",
    },
    Constraint {
        label: "collective_permute_c2",
        summary: "`collective-permute-start` gives its operand twice, as sent and as received, then contexts.",
    },
    Constraint {
        label: "ragged_all_to_all_c1",
        summary: "Operands 2 to 5 are integer arrays of one shape.",
    },
    Constraint {
        label: "all_gather_done_c1",
        summary: "The operand is what `all-gather-start` gives.",
    },
    Constraint {
        label: "collective_permute_done_c1",
        summary: "The operand is what `collective-permute-start` gives.",
    },
    Constraint {
        label: "copy_done_c1",
        summary: "The operand is what `copy-start` gives.",
    },
    Constraint {
        label: "async_start_c1",
        summary: "The computation has one parameter for each operand.",
    },
    Constraint {
        label: "async_start_c2",
        summary: "Each parameter has the shape of its operand.",
    },
    Constraint {
        label: "async_start_c3",
        summary: "The result is a tuple of the operands as a tuple, the computation's result, and contexts.",
    },
    Constraint {
        label: "async_start_c4",
        summary: "The computation holds parameters and a root, nothing else.",
    },
    Constraint {
        label: "async_start_c5",
        summary: "`async_execution_thread` is the `execution_thread` of the computation, where both are written.",
    },
    Constraint {
        label: "async_start_c6",
        summary: "A computation is begun by one `async-start` only.",
    },
    Constraint {
        label: "async_done_c1",
        summary: "The operand is what `async-start` gives.",
    },
    Constraint {
        label: "pair_c1",
        summary: "What a start gives has one user, its done: `async-start` and `async-update` an `async-update` or `async-done`, and all-gather, all-reduce, collective-permute, copy, send and recv their own.",
    },
    Constraint {
        label: "pair_c2",
        summary: "A done takes what its start gives.",
    },
    Constraint {
        label: "pair_c3",
        summary: "The computation and the thread that an `async-update` or `async-done` names are those of its start.",
    },
    Constraint {
        label: "channel_c1",
        summary: "A `send` and its `send-done` use one channel; so do `recv` and `recv-done`.",
    },
    Constraint {
        label: "channel_c2",
        summary: "A `send` and its `send-done` agree on `is_host_transfer`; so do `recv` and `recv-done`.",
    },
    Constraint {
        label: "send_c1",
        summary: "The second operand is a token.",
    },
    Constraint {
        label: "send_done_c1",
        summary: "The operand is what `send` gives: (value, u32[], token[]).",
    },
    Constraint {
        label: "recv_c1",
        summary: "The operand is a token.",
    },
    Constraint {
        label: "recv_c2",
        summary: "The result is (value, u32[], token[]).",
    },
    Constraint {
        label: "recv_done_c1",
        summary: "The operand is what `recv` gives: (value, u32[], token[]).",
    },
    Constraint {
        label: "infeed_c1",
        summary: "The operand is a token.",
    },
    Constraint {
        label: "infeed_c2",
        summary: "The result is (value, token[]).",
    },
    Constraint {
        label: "outfeed_c1",
        summary: "The second operand is a token.",
    },
    Constraint {
        label: "outfeed_c2",
        summary: "`outfeed_shape` is the shape of the value sent.",
    },
];
