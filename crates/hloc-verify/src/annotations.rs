//! What the annotations of instructions must agree on: shardings and origins. hloc runs on one device and
//! carries both along; it checks that they are not contradictory.

use hloc_ir::{Broken, Computation, ComputationId, Focus, Instruction, Module, Op, Shape};

/// Shardings of loops and branches, origins.
pub(crate) fn check(module: &Module, instruction: &Instruction) -> Result<(), Broken> {
    check_shardings(module, instruction)?;
    let origin = instruction
        .attributes
        .as_ref()
        .and_then(|all| all.origin.as_deref());
    origin.map_or(Ok(()), |origin| check_origin(&instruction.shape, origin))
}

fn sharding(instruction: &Instruction) -> Option<&str> {
    instruction.attributes.as_ref()?.sharding.as_deref()
}

/// The instructions that hold the same value as the instruction itself: parameters and roots.
fn same_values<'m>(module: &'m Module, op: &Op) -> Vec<&'m Instruction> {
    let computation = |id: ComputationId| module.computations.get(id);
    let root = |computation: &'m Computation| computation.instructions.get(computation.root);
    let parameter = |computation: &'m Computation| {
        let id = computation.parameters.first()?;
        computation.instructions.get(*id)
    };
    if let Op::While { condition, body } = op {
        let body = computation(*body);
        let inside = [
            body.and_then(root),
            body.and_then(parameter),
            computation(*condition).and_then(parameter),
        ];
        return inside.into_iter().flatten().collect();
    }
    if let Op::Conditional { .. } = op {
        let branches = op.called_computations();
        return branches
            .iter()
            .filter_map(|id| computation(*id).and_then(root))
            .collect();
    }
    Vec::new()
}

/// What passes through a loop or out of a branch is laid out over devices in one way.
fn check_shardings(module: &Module, instruction: &Instruction) -> Result<(), Broken> {
    let inside = same_values(module, &instruction.op);
    let mut common: Option<(&Instruction, &str)> = None;
    for each in std::iter::once(instruction).chain(inside) {
        let Some(text) = sharding(each) else { continue };
        let (first, known) = *common.get_or_insert((each, text));
        if known != text {
            return Err(Broken::new(
                "sharding_c1",
                format!(
                    "passes values between `{}` with sharding {known} and `{}` with sharding {text}",
                    first.name, each.name
                ),
            )
            .at(Focus::Attribute("sharding")));
        }
    }
    Ok(())
}

/// An origin has the tuple structure of the shape; `{}` stands for parts of unknown origin.
fn check_origin(shape: &Shape, origin: &str) -> Result<(), Broken> {
    let inside = origin.trim();
    let inside = inside
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let Some(inside) = inside.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    if inside.starts_with('[') {
        return Ok(());
    }
    let mut rest = inside;
    let fits = follows(shape, &mut rest) && rest.trim().is_empty();
    if fits {
        return Ok(());
    }
    Err(Broken::new(
        "origin_c1",
        format!("has shape {shape}, but its origin {origin} has other parts"),
    )
    .at(Focus::Attribute("origin")))
}

/// Whether `rest` begins with an origin of `shape`'s structure, which is then taken off.
fn follows(shape: &Shape, rest: &mut &str) -> bool {
    let text = rest.trim_start();
    let Shape::Tuple(elements) = shape else {
        let Some(end) = leaf_end(text) else {
            return false;
        };
        *rest = &text[end..];
        return true;
    };
    let Some(mut inside) = text.strip_prefix('(') else {
        return false;
    };
    for (at, element) in elements.iter().enumerate() {
        inside = inside.trim_start();
        if at > 0 {
            let Some(after) = inside.strip_prefix(',') else {
                return false;
            };
            inside = after;
        }
        if !follows(element, &mut inside) {
            return false;
        }
    }
    let Some(after) = inside.trim_start().strip_prefix(')') else {
        return false;
    };
    *rest = after;
    true
}

/// Where the brace that opens `text` closes; quoted text is passed over.
fn leaf_end(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at + 1),
            b'}' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use hloc_ir::{ElementType, Shape};

    use super::check_origin;

    #[test]
    fn origins_have_the_structure_of_shapes() {
        let array = Shape::array(ElementType::F32, &[2]);
        let pair = Shape::Tuple(vec![array.clone(), array.clone()]);
        for text in [
            "{{\"a\"}}",
            "{{\"a\" {0}}}",
            "{{}}",
            "{}",
            "{[synthetic_call]}",
        ] {
            assert!(check_origin(&array, text).is_ok(), "{text}");
        }
        for text in ["{({\"a\"}, {\"b\"})}", "{()}"] {
            assert!(check_origin(&array, text).is_err(), "{text}");
        }
        assert!(check_origin(&pair, "{({\"a\"}, {\"}\" {1}})}").is_ok());
        assert!(check_origin(&pair, "{({\"a\"})}").is_err());
    }
}
