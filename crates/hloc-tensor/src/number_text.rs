//! Floats with the fewest digits that read back the same, and columns of them with the points aligned.

use crate::{ElementType, float_format};

/// Values from here on print with an exponent.
const LARGE: i32 = 16;

/// Values with a smaller power of ten than this print with an exponent.
const SMALL: i32 = -4;

/// A float's digits, not yet laid out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FloatText {
    /// Digits and the power of ten of the first: `1.25` is `125` and 0, with `-` when negative.
    Finite {
        /// Whether a minus sign precedes; −0 has one.
        negative: bool,
        /// The digits, the first not `0` unless the value is zero.
        digits: String,
        /// The power of ten of the first digit.
        exponent: i32,
    },
    /// `nan`, `inf`, `-inf`.
    Special(&'static str),
}

/// The fewest digits that, read as `element_type`, give `value` back. `value` is of that type.
pub(crate) fn float_text(element_type: ElementType, value: f64) -> FloatText {
    if value.is_nan() {
        return FloatText::Special("nan");
    }
    if value.is_infinite() {
        return FloatText::Special(if value > 0.0 { "inf" } else { "-inf" });
    }
    let text = shortest_scientific(element_type, value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    FloatText::Finite {
        negative: value.is_sign_negative(),
        digits: mantissa.replace('.', ""),
        exponent: exponent.parse().unwrap_or(0),
    }
}

/// `d.ddde-dd`.
fn shortest_scientific(element_type: ElementType, value: f64) -> String {
    let reads_back = |text: &str| {
        let format = float_format(element_type);
        text.parse().is_ok_and(|read| {
            format.is_none_or(|format| format.decode(format.encode(read)) == value)
        })
    };
    if element_type == ElementType::F64 {
        return format!("{value:e}");
    }
    if element_type == ElementType::F32 {
        return format!("{:e}", value as f32);
    }
    (0..17)
        .map(|digits| format!("{value:.digits$e}"))
        .find(|text| reads_back(text))
        .unwrap_or_else(|| format!("{value:e}"))
}

impl FloatText {
    /// Whether the value reads better with an exponent.
    fn wants_exponent(&self) -> bool {
        match self {
            FloatText::Finite {
                digits, exponent, ..
            } => digits != "0" && (*exponent >= LARGE || *exponent < SMALL),
            FloatText::Special(_) => false,
        }
    }

    /// What stands before the point and after it, without an exponent: `-0` and `25`.
    fn fixed_parts(&self) -> (String, String) {
        let (negative, digits, exponent) = match self {
            FloatText::Special(text) => return ((*text).to_owned(), String::new()),
            FloatText::Finite {
                negative,
                digits,
                exponent,
            } => (*negative, digits, *exponent),
        };
        let sign = if negative { "-" } else { "" };
        if exponent < 0 {
            let zeros = "0".repeat((-exponent - 1) as usize);
            return (format!("{sign}0"), format!("{zeros}{digits}"));
        }
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            return (
                format!("{sign}{digits}{}", "0".repeat(whole - digits.len())),
                String::new(),
            );
        }
        (
            format!("{sign}{}", &digits[..whole]),
            digits[whole..].to_owned(),
        )
    }

    /// `-1.25e-7`.
    fn scientific(&self) -> String {
        match self {
            FloatText::Special(text) => (*text).to_owned(),
            FloatText::Finite {
                negative,
                digits,
                exponent,
            } => {
                let sign = if *negative { "-" } else { "" };
                let (first, rest) = digits.split_at(1);
                let point = if rest.is_empty() { "" } else { "." };
                format!("{sign}{first}{point}{rest}e{exponent}")
            }
        }
    }

    /// Without a point when none is needed: `1`, `0.5`, `1e-7`.
    pub(crate) fn short(&self) -> String {
        if self.wants_exponent() {
            return self.scientific();
        }
        let (whole, fraction) = self.fixed_parts();
        if fraction.is_empty() {
            whole
        } else {
            format!("{whole}.{fraction}")
        }
    }

    /// With a point, an exponent or a word, so that it cannot be taken for an integer: `1.0`.
    pub(crate) fn standalone(&self) -> String {
        let text = self.short();
        if text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
        {
            text + ".0"
        } else {
            text
        }
    }
}

/// How all floats of an array are laid out, so that points stand below points.
pub(crate) struct Column {
    exponents: bool,
    whole_width: usize,
    fraction_width: usize,
    width: usize,
}

impl Column {
    /// The layout for these floats. One that needs an exponent gives all of them one.
    pub(crate) fn of(texts: &[FloatText]) -> Column {
        let exponents = texts.iter().any(FloatText::wants_exponent);
        let mut column = Column {
            exponents,
            whole_width: 0,
            fraction_width: 0,
            width: 0,
        };
        for text in texts {
            match text {
                FloatText::Special(special) => column.width = column.width.max(special.len()),
                FloatText::Finite { .. } if exponents => {
                    column.width = column.width.max(text.scientific().len())
                }
                FloatText::Finite { .. } => {
                    let (whole, fraction) = text.fixed_parts();
                    column.whole_width = column.whole_width.max(whole.len());
                    column.fraction_width = column.fraction_width.max(fraction.len());
                }
            }
        }
        if column.whole_width > 0 {
            column.width = column
                .width
                .max(column.whole_width + 1 + column.fraction_width);
        }
        column
    }

    /// The text, padded to the column's width.
    pub(crate) fn aligned(&self, text: &FloatText) -> String {
        let width = self.width;
        match text {
            FloatText::Special(special) => format!("{special:>width$}"),
            FloatText::Finite { .. } if self.exponents => format!("{:>width$}", text.scientific()),
            FloatText::Finite { .. } => {
                let (whole, fraction) = text.fixed_parts();
                let fraction_width = self.fraction_width;
                format!("{:>width$}", format!("{whole}.{fraction:<fraction_width$}"))
            }
        }
    }
}
