//! Attribute values made of numbers: lists, slices, padding, windows, dimension labels.

use hloc_diag::{Diagnostic, Span};
use hloc_ir::attr::{DimLabels, PaddingDim, SliceDim, Window, WindowDim};

use crate::Parsed;
use crate::grammar::{Node, Rule};
use crate::limits::MAX_DIMS;
use crate::module::Parser;
use crate::split::Cursor;
use crate::values;

impl<'t> Parser<'t> {
    /// A number with or without a fraction.
    pub(crate) fn number(&mut self) -> Parsed<f64> {
        let node = values::only_child(self.cursor.take(Rule::number_value)?);
        values::number(&self.cursor, &node)
    }

    /// `{0,1}`.
    pub(crate) fn integer_list(&mut self) -> Parsed<Vec<i64>> {
        if let Some(list) = self.cursor.plain_integer_list() {
            return Ok(list);
        }
        let list = self.cursor.take(Rule::integer_list)?;
        values::integers(&self.cursor, list)
    }

    /// `{true,false}`.
    pub(crate) fn boolean_list(&mut self) -> Parsed<Vec<bool>> {
        Ok(values::booleans(self.cursor.take(Rule::boolean_list)?))
    }

    /// `{[0:2], [0:6:2]}`; a stride that is not written is 1.
    pub(crate) fn slice(&mut self) -> Parsed<Vec<SliceDim>> {
        let list = self.cursor.take(Rule::slice_list)?;
        let dim = |node| {
            let numbers = values::integers(&self.cursor, node)?;
            Ok(SliceDim {
                start: numbers[0],
                limit: numbers[1],
                stride: numbers.get(2).copied().unwrap_or(1),
            })
        };
        list.into_inner().map(dim).collect()
    }

    /// `0_1x0_1_2`; an interior that is not written is 0.
    pub(crate) fn padding(&mut self) -> Parsed<Vec<PaddingDim>> {
        let node = self.cursor.take(Rule::padding)?;
        padding_dims(&self.cursor, node)
    }

    /// `{size=3x3 stride=2x2 …}`.
    pub(crate) fn window(&mut self) -> Parsed<Window> {
        let node = self.cursor.take(Rule::window)?;
        let span = self.cursor.span_of(&node);
        let mut fields: Vec<(&str, Span, Node<'t>)> = Vec::new();
        for field in node.into_inner() {
            let span = self.cursor.span_of(&field);
            let mut parts = field.into_inner();
            let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
                continue;
            };
            let name = name.as_str();
            if fields.iter().any(|(other, _, _)| *other == name) {
                return Err(window_error(format!("`{name}` is written twice"), span));
            }
            fields.push((name, span, value));
        }
        self.window_of(fields, span)
    }

    fn window_of(&self, fields: Vec<(&str, Span, Node<'t>)>, span: Span) -> Parsed<Window> {
        let size = fields.iter().find(|(name, _, _)| *name == "size");
        let Some((_, size_span, size)) = size else {
            if fields.is_empty() {
                return Ok(Window::default());
            }
            return Err(window_error("the window has no `size`".to_owned(), span));
        };
        let sizes = field_integers(&self.cursor, size.clone(), *size_span)?;
        if sizes.len() > MAX_DIMS {
            let message = format!("a window has at most {MAX_DIMS} dimensions");
            return Err(window_error(message, *size_span));
        }
        let mut dims: Vec<WindowDim> = sizes.into_iter().map(WindowDim::of_size).collect();
        for (name, span, value) in fields {
            if name == "pad" {
                let padding = field_padding(&self.cursor, value, span)?;
                check_count(name, padding.len(), dims.len(), span)?;
                for (dim, (low, high)) in dims.iter_mut().zip(padding) {
                    (dim.pad_low, dim.pad_high) = (low, high);
                }
            } else if name != "size" {
                let numbers = field_integers(&self.cursor, value, span)?;
                check_count(name, numbers.len(), dims.len(), span)?;
                for (dim, number) in dims.iter_mut().zip(numbers) {
                    set_window_field(dim, name, number, span)?;
                }
            }
        }
        Ok(Window(dims))
    }

    /// `b01f_01io->b01f`.
    pub(crate) fn dim_labels(&mut self) -> Parsed<DimLabels> {
        let node = self.cursor.take(Rule::dim_labels)?;
        let span = self.cursor.span_of(&node);
        let mut sides = node.into_inner().map(|side| side.as_str());
        let mut next = |letters| labels_of_side(sides.next().unwrap_or(""), letters, span);
        let input = next(['b', 'f'])?;
        let kernel = next(['i', 'o'])?;
        let output = next(['b', 'f'])?;
        let count = input.spatial.len();
        if kernel.spatial.len() != count || output.spatial.len() != count {
            let message = format!(
                "input, kernel and output have {count}, {} and {} spatial dimensions",
                kernel.spatial.len(),
                output.spatial.len()
            );
            return Err(labels_error(message, span));
        }
        Ok(DimLabels {
            input_batch: input.first,
            input_feature: input.second,
            input_spatial: input.spatial,
            kernel_input_feature: kernel.first,
            kernel_output_feature: kernel.second,
            kernel_spatial: kernel.spatial,
            output_batch: output.first,
            output_feature: output.second,
            output_spatial: output.spatial,
            unused: [input.unused, kernel.unused, output.unused],
        })
    }
}

fn padding_dims<'t>(cursor: &Cursor<'t>, node: Node<'t>) -> Parsed<Vec<PaddingDim>> {
    let dim = |node| {
        let numbers = values::integers(cursor, node)?;
        Ok(PaddingDim {
            low: numbers[0],
            high: numbers[1],
            interior: numbers.get(2).copied().unwrap_or(0),
        })
    };
    node.into_inner().map(dim).collect()
}

fn field_integers<'t>(cursor: &Cursor<'t>, value: Node<'t>, span: Span) -> Parsed<Vec<i64>> {
    if value.as_rule() == Rule::integers_by_x {
        return values::integers(cursor, value);
    }
    let message = "this field holds numbers such as `3x3`".to_owned();
    Err(window_error(message, span))
}

fn field_padding<'t>(cursor: &Cursor<'t>, value: Node<'t>, span: Span) -> Parsed<Vec<(i64, i64)>> {
    if value.as_rule() == Rule::padding {
        let dims = padding_dims(cursor, value)?;
        if dims.iter().all(|dim| dim.interior == 0) {
            return Ok(dims.iter().map(|dim| (dim.low, dim.high)).collect());
        }
    }
    let message = "`pad` holds pairs such as `0_1x0_1`".to_owned();
    Err(window_error(message, span))
}

fn check_count(name: &str, count: usize, dims: usize, span: Span) -> Parsed<()> {
    if count == dims {
        return Ok(());
    }
    let message = format!("`{name}` has {count} entries but `size` has {dims}");
    Err(window_error(message, span))
}

fn set_window_field(dim: &mut WindowDim, name: &str, number: i64, span: Span) -> Parsed<()> {
    match name {
        "stride" => dim.stride = number,
        "lhs_dilate" => dim.base_dilation = number,
        "rhs_dilate" => dim.window_dilation = number,
        "rhs_reversal" if number == 0 || number == 1 => dim.reversal = number == 1,
        "rhs_reversal" => {
            let message = format!("`rhs_reversal` is 0 or 1, not {number}");
            return Err(window_error(message, span));
        }
        _ => {
            let message = format!(
                "unknown field `{name}`; the fields are size, stride, pad, lhs_dilate, rhs_dilate, rhs_reversal"
            );
            return Err(window_error(message, span));
        }
    }
    Ok(())
}

fn window_error(message: String, span: Span) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("window-form", message, span))
}

/// The labels of input, kernel or output: the position in the text is the dimension number.
struct Side {
    first: i64,
    second: i64,
    spatial: Vec<i64>,
    unused: Vec<i64>,
}

/// Reads one side whose two letters are `letters`; digits are spatial numbers.
fn labels_of_side(text: &str, letters: [char; 2], span: Span) -> Parsed<Side> {
    if text.len() > MAX_DIMS {
        let message = format!("an array has at most {MAX_DIMS} dimensions");
        return Err(labels_error(message, span));
    }
    let mut places = [None; 2];
    let mut spatial = [None; 10];
    let mut unused = Vec::new();
    for (dim, label) in text.chars().enumerate() {
        let slot = if label == '?' {
            unused.push(dim as i64);
            continue;
        } else if let Some(digit) = label.to_digit(10) {
            &mut spatial[digit as usize]
        } else if let Some(at) = letters.iter().position(|letter| *letter == label) {
            &mut places[at]
        } else {
            let message = format!("`{label}` is no label of `{text}`");
            return Err(labels_error(message, span));
        };
        if slot.replace(dim as i64).is_some() {
            let message = format!("`{label}` stands twice in `{text}`");
            return Err(labels_error(message, span));
        }
    }
    let [Some(first), Some(second)] = places else {
        let [first, second] = letters;
        let message = format!("`{text}` needs one `{first}` and one `{second}`");
        return Err(labels_error(message, span));
    };
    let count = spatial.iter().flatten().count();
    let spatial: Vec<i64> = spatial.into_iter().map_while(|place| place).collect();
    if spatial.len() != count {
        let message = format!("`{text}` leaves out spatial dimension {}", spatial.len());
        return Err(labels_error(message, span));
    }
    Ok(Side {
        first,
        second,
        spatial,
        unused,
    })
}

fn labels_error(message: String, span: Span) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("dim-labels-form", message, span))
}
