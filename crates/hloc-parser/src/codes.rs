//! What every code of the parser says: the text of `hloc explain CODE`.

/// One code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The code of the diagnostic: `unknown-opcode`.
    pub code: &'static str,
    /// What must hold, in whole sentences.
    pub summary: &'static str,
}

macro_rules! codes {
    ($( $code:literal: $summary:literal; )*) => {
        /// Every code that [`parse`](crate::parse) gives, by name.
        pub const CODES: &[Code] = &[$( Code { code: $code, summary: $summary } ),*];
    };
}

codes! {
    "alias-kind": "An alias of `output_to_operand_aliasing` has no kind; `may-alias` and `must-alias` belong to `input_output_alias` of the header.";
    "async-chain": "The operand of `NAME-update` and `NAME-done` is an instruction `NAME-start` or `NAME-update` of the same NAME, which wraps the opcode that runs.";
    "async-shape": "`NAME-start` has its result shape written: a tuple of the operands' shapes as a tuple, the result's shape, and contexts.";
    "attribute-value": "The value of an attribute has the form that the attribute takes: an integer, a list in braces, a name, ... `hloc ops` lists the attributes of every opcode.";
    "dim-labels-form": "`dim_labels` names the dimensions of input, kernel and result: `b01f_01io->b01f`. Each side has `b` and `f` (the kernel `i` and `o`) once and the numbers from 0 once each; `?` stands for a dimension without a role.";
    "dimension-size": "The size of a dimension is an integer from 0 to 2^63 - 1; `<=` in front makes it a bound, and `?` leaves it open.";
    "duplicate-attribute": "An instruction, or the header, has each attribute once.";
    "duplicate-name": "Names are unique: of computations in a module, of instructions in a computation.";
    "duplicate-parameter": "The parameters of a computation have different numbers.";
    "duplicate-table": "Each table (`FileNames`, `FunctionNames`, `FileLocations`, `StackFrames`) stands once in a module.";
    "empty-computation": "A computation has at least one instruction.";
    "empty-module": "A module has at least one computation.";
    "integer-range": "Integers of attributes and shapes fit in 64 bits with a sign.";
    "layout-length": "The layout of an array lists each of its dimensions once: an array of two dimensions has `{1,0}` or `{0,1}`.";
    "literal-count": "A literal has as many elements in each pair of braces as its shape says: `s32[2,3] constant({ {1,2,3}, {4,5,6} })`.";
    "literal-elided": "A constant's value is written in full. `{...}` stands for elements that a printer left out; have it print them: `print_large_constants` in XLA's `HloPrintOptions`, `--xla_dump_large_constants=true` for dumps, or `as_hlo_text(print_large_constants=True)` in Python.";
    "literal-kind": "The elements of a literal are of the constant's element type: `true` and `false` (or 0 and 1) for `pred`, whole numbers for integers, pairs in parentheses for complex numbers.";
    "literal-range": "The elements of a literal fit in the constant's element type; floats round to nearest, and beyond the greatest finite value they are refused (write `inf`).";
    "literal-syntax": "A literal is a number, or as many nested braces as its shape has dimensions, with commas between elements; a tuple's literal is in parentheses.";
    "missing-attribute": "Attributes that an opcode requires are written. `hloc ops` lists them, optional ones in brackets.";
    "nesting-too-deep": "Shapes, attribute texts and inline operands nest no deeper than hloc's limits, so that no text can exhaust the stack.";
    "nul-byte": "The text holds no byte 0.";
    "number-range": "Numbers of attributes fit in an f64; infinity is written `inf`.";
    "operand-shape": "A shape written in front of an operand is the shape of the instruction that it names.";
    "operand-shape-omitted": "In a text of one instruction, every operand has its shape in front: `f32[3] add(f32[3] a, f32[3] b)`. The operands become parameters.";
    "parameter-gap": "The parameters of a computation are numbered from 0 without a gap.";
    "parameter-number": "A parameter's number is an integer from 0.";
    "reserved-name": "A name is no element type (`f32`), and no keyword unless `%` stands in front of it.";
    "result-accuracy": "`result_accuracy` holds `mode=default` or `mode=highest`, or a `tolerance` of `atol`, `rtol` and `ulps`.";
    "shape-form": "`token` and `opaque` have no dimensions and no layout: `token[]`.";
    "shape-omitted": "The result shape of an instruction may be left out only where it follows from the operands and attributes.";
    "string-encoding": "A string is UTF-8 text once its escapes are replaced.";
    "string-escape": "A backslash in a string begins one of the escapes of C: `\\n`, `\\\"`, `\\x41`, `\\101`, ...";
    "syntax-error": "The text follows the grammar, `grammar/hlo.pest`. The message names what could stand at the place instead.";
    "table-field": "A row of `FileLocations` and `StackFrames` has the fields of its table, each once.";
    "table-order": "The rows of a table are numbered from 1, in order.";
    "text-after-end": "Nothing stands behind the last computation, or behind the instruction of a text that is one instruction.";
    "too-many-dimensions": "An array has at most 64 dimensions.";
    "tuple-index": "An operand `t.1` of an inline tuple access names an element that the tuple has.";
    "two-entries": "One computation is the `ENTRY`.";
    "two-roots": "One instruction of a computation is the `ROOT`; without one, the last is.";
    "unclosed-brace": "Every `{` has its `}`.";
    "unclosed-comment": "Every `/*` has its `*/`.";
    "unclosed-parenthesis": "Every `(` has its `)`.";
    "unclosed-string": "Every string has its closing quote.";
    "undefined-name": "Operands name instructions that stand before their user in the same computation; attributes name computations of the module.";
    "unexpected-end": "The text does not end inside an instruction, a computation or a table.";
    "unknown-attribute": "An instruction has attributes of its opcode, and those that every instruction may have (`metadata`, `sharding`, `control-predecessors`, ...).";
    "unknown-opcode": "The opcode is one of those that `hloc ops` lists.";
    "unknown-type": "The element type is one of HLO's: pred, s1 to s64, u1 to u64, f16, bf16, f32, f64, c64, c128, and the floats of 4, 6 and 8 bits. Types are written in lower case.";
    "unknown-word": "Where an attribute takes a word, it is one of those that the message lists.";
    "window-form": "The fields of `window` (`size`, `stride`, `pad`, `lhs_dilate`, `rhs_dilate`, `rhs_reversal`) have one value for each dimension, with `x` between them, and stand once each: `window={size=3x3 pad=1_1x1_1}`.";
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::CODES;

    /// Codes that the sources pass to `Diagnostic::error`, or name as constants.
    fn used(directory: &Path, codes: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).expect("sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                used(&path, codes);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source file");
            for start in ["Diagnostic::error(", ": &str ="] {
                for rest in text.split(start).skip(1) {
                    if let Some(rest) = rest.trim_start().strip_prefix('"') {
                        codes.extend(rest.split('"').next().map(str::to_owned));
                    }
                }
            }
        }
    }

    #[test]
    fn every_code_is_documented_and_sorted() {
        assert!(CODES.is_sorted_by_key(|code| code.code));
        let mut codes = Vec::new();
        used(
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
            &mut codes,
        );
        assert!(codes.len() > 40, "{codes:?}");
        let documented = |code: &str| CODES.iter().any(|known| known.code == code);
        codes.retain(|code| code.contains('-') && !documented(code));
        assert!(codes.is_empty(), "undocumented: {codes:?}");
    }
}
