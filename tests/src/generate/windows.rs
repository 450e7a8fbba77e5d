//! Ops with windows: `reduce-window` and `select-and-scatter`.

use hloc_ir::{ElementType, Opcode, StructuralOp};

use super::Row;
use super::builder::{Generator, MAX_ELEMENTS, Part, Place, Value};
use super::knowledge::Knowledge;
use super::reducers::reducer;
use super::reductions::{emit, flavored, terms, types_beside};
use super::values::between;

pub(super) fn rows() -> Vec<Row> {
    let row = |op, weight, make| Row::new(Opcode::Structural(op), weight, make);
    vec![
        row(StructuralOp::ReduceWindow, 9, reduce_window),
        row(StructuralOp::SelectAndScatter, 5, select_and_scatter),
    ]
}

/// One dimension of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowDim {
    pub(super) size: i64,
    stride: i64,
    low: i64,
    high: i64,
    base_dilation: i64,
    dilation: i64,
    reversal: bool,
}

impl WindowDim {
    /// A random window of `size` over a dimension of `extent`; `None` if padding leaves less than nothing.
    pub(super) fn random(g: &mut Generator, extent: i64, size: i64) -> Option<WindowDim> {
        let mut one_of = |chance: usize, most: i64| {
            if g.random.one_in(chance) {
                between(&mut g.random, 1, most)
            } else {
                1
            }
        };
        let (stride, base_dilation, dilation) = (one_of(2, 3), one_of(5, 3), one_of(5, 3));
        let mut padding = || {
            if g.random.one_in(2) {
                between(&mut g.random, -2, 3)
            } else {
                0
            }
        };
        let window = WindowDim {
            size,
            stride,
            low: padding(),
            high: padding(),
            base_dilation,
            dilation,
            reversal: g.random.one_in(4),
        };
        window.count(extent).map(|_| window)
    }

    /// How many places the window has, `None` if the padded extent is negative.
    pub(super) fn count(&self, extent: i64) -> Option<i64> {
        let dilated = |size: i64, by: i64| if size == 0 { 0 } else { (size - 1) * by + 1 };
        let padded = dilated(extent, self.base_dilation) + self.low + self.high;
        let spread = dilated(self.size, self.dilation);
        (padded >= 0).then(|| {
            if spread > padded {
                0
            } else {
                (padded - spread) / self.stride + 1
            }
        })
    }
}

/// `, window={size=2x3 …}`; nothing without dimensions.
pub(super) fn window_text(g: &mut Generator, window: &[WindowDim], reversal: bool) -> String {
    if window.is_empty() {
        return String::new();
    }
    let joined =
        |part: &dyn Fn(&WindowDim) -> String| window.iter().map(part).collect::<Vec<_>>().join("x");
    let mut text = format!("size={}", joined(&|dim| dim.size.to_string()));
    let mut field = |name: &str, plain: bool, value: String| {
        if !plain || g.random.one_in(8) {
            text += &format!(" {name}={value}");
        }
    };
    let all = |holds: &dyn Fn(&WindowDim) -> bool| window.iter().all(holds);
    let stride = joined(&|dim| dim.stride.to_string());
    field("stride", all(&|dim| dim.stride == 1), stride);
    let padding = joined(&|dim| format!("{}_{}", dim.low, dim.high));
    field("pad", all(&|dim| dim.low == 0 && dim.high == 0), padding);
    let base = joined(&|dim| dim.base_dilation.to_string());
    field("lhs_dilate", all(&|dim| dim.base_dilation == 1), base);
    let dilation = joined(&|dim| dim.dilation.to_string());
    field("rhs_dilate", all(&|dim| dim.dilation == 1), dilation);
    if reversal {
        let reversed = joined(&|dim| u8::from(dim.reversal).to_string());
        field("rhs_reversal", all(&|dim| !dim.reversal), reversed);
    }
    format!(", window={{{text}}}")
}

/// A window for an array of these sizes, with the sizes of what it gives.
fn window_over(g: &mut Generator, dims: &[i64]) -> Option<(Vec<WindowDim>, Vec<i64>)> {
    let mut window = Vec::new();
    for extent in dims {
        let size = if g.random.one_in(4) {
            // Cumulative sums have windows as large as the array.
            (*extent).clamp(1, 20)
        } else {
            between(&mut g.random, 1, (extent + 1).clamp(1, 4))
        };
        window.push(WindowDim::random(g, *extent, size)?);
    }
    let counts = window
        .iter()
        .zip(dims)
        .map(|(window, extent)| window.count(*extent));
    let counts: Vec<i64> = counts.collect::<Option<_>>()?;
    (counts.iter().product::<i64>() <= MAX_ELEMENTS).then_some((window, counts))
}

fn reduce_window(g: &mut Generator, _: Opcode) -> Option<()> {
    let first = g.exact(|_| true);
    let count = *g.random.pick(&[1, 1, 1, 2]);
    let types = types_beside(g, first.ty, count);
    let (window, dims) = window_over(g, &first.dims)?;
    let reducer = reducer(g, &types);
    let size: i64 = window.iter().map(|dim| dim.size).product();
    let (flavor, known) = terms(g, &reducer, first.ty, size.min(first.num_elements()))?;
    let mut operands = Vec::new();
    for (at, ty) in types.iter().enumerate() {
        let part: Part = (*ty, first.dims.clone(), Knowledge::WILD);
        operands.push(if at == 0 && flavor.is_none() {
            first.clone()
        } else {
            flavored(g, &part, flavor)
        });
    }
    for ty in &types {
        operands.push(flavored(g, &(*ty, Vec::new(), Knowledge::WILD), flavor));
    }
    let window = window_text(g, &window, false);
    let attributes = format!("{window}, to_apply={}", reducer.name);
    let operands: Vec<&Value> = operands.iter().collect();
    emit(
        g,
        &types,
        &dims,
        known,
        ("reduce-window", &operands, &attributes),
    );
    Some(())
}

fn select_and_scatter(g: &mut Generator, _: Opcode) -> Option<()> {
    let x = g.exact(|ty| !ty.is_complex());
    let (window, dims) = window_over(g, &x.dims)?;
    let scalar = (x.ty, Vec::new(), Knowledge::WILD);
    let direction = *g.random.pick(&["GE", "GE", "LE", "GT", "LT"]);
    let select = g.computation(
        "select",
        Place::Scalar,
        &[scalar.clone(), scalar.clone()],
        |g, v| {
            let part = (ElementType::Pred, Vec::new(), Knowledge::WILD);
            let attributes = format!(", direction={direction}");
            g.add(part, "compare", &[&v[0], &v[1]], &attributes).name
        },
    );
    let scatter = reducer(g, &[x.ty]);
    let sources: i64 = dims.iter().product();
    let (flavor, known) = terms(g, &scatter, x.ty, sources)?;
    let source = flavored(g, &(x.ty, dims, Knowledge::WILD), flavor);
    let init = flavored(g, &scalar, flavor);
    let window = window_text(g, &window, false);
    let attributes = format!("{window}, select={select}, scatter={}", scatter.name);
    let part = (x.ty, x.dims.clone(), known);
    g.add(
        part,
        "select-and-scatter",
        &[&x, &source, &init],
        &attributes,
    );
    Some(())
}
