//! The forms that printers write most, cut by hand.
//!
//! The grammar defines what each form is; it is slow, so forms without white space and comments in
//! unusual places are first tried here. Each function either takes exactly what the grammar would take
//! and steps over it, or returns `None` and leaves the place as it was: then the grammar decides.

use hloc_diag::Span;
use memchr::memchr2;

use crate::split::Cursor;

/// An instruction up to its parenthesis: `ROOT %sum = f32[2]{0} add(`.
pub(crate) struct PlainHead<'t> {
    pub(crate) is_root: bool,
    /// As written, with `%`.
    pub(crate) name: &'t str,
    pub(crate) shape: &'t str,
    pub(crate) opcode: &'t str,
}

/// A computation up to its brace: `%sum (x: f32[], y: f32[]) -> f32[] {`, `ENTRY main {`.
pub(crate) struct PlainComputation<'t> {
    pub(crate) is_entry: bool,
    /// As written, with `%`.
    pub(crate) name: &'t str,
    /// Of the parameters, then of the result; none without a signature.
    pub(crate) shapes: Vec<&'t str>,
}

/// The value of a field of metadata.
pub(crate) enum PlainField<'t> {
    /// What stands between the quotes; it has no escapes.
    String(&'t str),
    Integer(i64),
}

impl<'t> Cursor<'t> {
    /// What the rule `name` takes.
    pub(crate) fn plain_name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let len = name_len(rest.as_bytes())?;
        Some(self.step(len))
    }

    /// What the rule `ident` takes.
    pub(crate) fn plain_ident(&mut self) -> Option<&'t str> {
        let len = ident_len(self.rest().as_bytes())?;
        Some(self.step(len))
    }

    /// What the rule `string` takes, with the quotes, if it has no escapes.
    pub(crate) fn plain_string(&mut self) -> Option<&'t str> {
        let len = string_len(self.rest().as_bytes())?;
        Some(self.step(len))
    }

    /// The name of the attribute in `, name=`, and the place behind `=`.
    pub(crate) fn plain_attribute_name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let start = match rest.as_bytes() {
            [b',', b' ', ..] => 2,
            [b',', ..] => 1,
            _ => return None,
        };
        let bytes = &rest.as_bytes()[start..];
        let len = ident_len(bytes)?;
        if bytes.get(len) != Some(&b'=') || begins_blank(bytes.get(len + 1)) {
            return None;
        }
        self.step(start + len + 1);
        Some(&rest[start..start + len])
    }

    /// An integer of at most 18 digits without a sign that no part of a word follows.
    pub(crate) fn plain_integer(&mut self) -> Option<i64> {
        let bytes = self.rest().as_bytes();
        let (value, len) = integer(bytes)?;
        if bytes.get(len).is_some_and(is_ident_byte) {
            return None;
        }
        self.step(len);
        Some(value)
    }

    /// The number of a parameter in `0)`, and the place behind the parenthesis.
    pub(crate) fn plain_parameter_number(&mut self) -> Option<i64> {
        let bytes = self.rest().as_bytes();
        let (value, len) = integer(bytes)?;
        if bytes.get(len) != Some(&b')') {
            return None;
        }
        self.step(len + 1);
        Some(value)
    }

    /// `{0,1}`, `{}`.
    pub(crate) fn plain_integer_list(&mut self) -> Option<Vec<i64>> {
        let bytes = self.rest().as_bytes();
        let mut at = opening(bytes, b'{')?;
        let mut list = Vec::new();
        if bytes.get(at) == Some(&b'}') {
            self.step(at + 1);
            return Some(list);
        }
        loop {
            let (value, len) = integer(&bytes[at..])?;
            list.push(value);
            at += len;
            match bytes.get(at) {
                Some(b',') => at += 1 + usize::from(bytes.get(at + 1) == Some(&b' ')),
                Some(b'}') => break,
                _ => return None,
            }
        }
        self.step(at + 1);
        Some(list)
    }

    /// The places of the names in `%x, y)`, and the place behind the parenthesis.
    pub(crate) fn plain_operands(&mut self) -> Option<Vec<Span>> {
        let start = self.at();
        let bytes = self.rest().as_bytes();
        let end = memchr2(b'(', b')', bytes)?;
        let count = bytes[..end].iter().filter(|byte| **byte == b',').count() + 1;
        let mut names = Vec::new();
        let mut at = 0;
        if bytes[0] == b')' {
            self.step(1);
            return Some(names);
        }
        names.reserve_exact(count);
        loop {
            let len = name_len(&bytes[at..])?;
            names.push(Span::from_range(start + at..start + at + len));
            at += len;
            match bytes.get(at) {
                Some(b',') => at += 1 + usize::from(bytes.get(at + 1) == Some(&b' ')),
                Some(b')') => break,
                _ => return None,
            }
        }
        self.step(at + 1);
        Some(names)
    }

    /// The head of an instruction whose parts stand one blank apart, with a shape that is a plain array.
    pub(crate) fn plain_head(&mut self) -> Option<PlainHead<'t>> {
        let rest = self.rest();
        let is_root = rest.starts_with("ROOT ");
        let name_start = if is_root { "ROOT ".len() } else { 0 };
        let name_end = name_start + name_len(&rest.as_bytes()[name_start..])?;
        let shape_start = behind(rest, name_end, " = ")?;
        let shape_end = shape_start + array_len(&rest.as_bytes()[shape_start..])?;
        let opcode_start = behind(rest, shape_end, " ")?;
        let opcode_end = opcode_start + ident_len(&rest.as_bytes()[opcode_start..])?;
        let end = behind(rest, opcode_end, "(")?;
        self.step(end);
        Some(PlainHead {
            is_root,
            name: &rest[name_start..name_end],
            shape: &rest[shape_start..shape_end],
            opcode: &rest[opcode_start..opcode_end],
        })
    }

    /// The head of a computation without a signature or with one of plain arrays.
    pub(crate) fn plain_computation(&mut self) -> Option<PlainComputation<'t>> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let is_entry = rest.starts_with("ENTRY ");
        let name_start = if is_entry { "ENTRY ".len() } else { 0 };
        let name_end = name_start + name_len(&bytes[name_start..])?;
        let mut shapes = Vec::new();
        if let Some(end) = behind(rest, name_end, " {\n") {
            self.step(end - 1);
            return Some(PlainComputation {
                is_entry,
                name: &rest[name_start..name_end],
                shapes,
            });
        }
        let mut at = behind(rest, name_end, " (")?;
        while bytes.get(at) != Some(&b')') {
            if !shapes.is_empty() {
                at = behind(rest, at, ", ")?;
            }
            at += name_len(&bytes[at..])?;
            let start = behind(rest, at, ": ")?;
            at = start + array_len(&bytes[start..])?;
            shapes.push(&rest[start..at]);
        }
        let start = behind(rest, at, ") -> ")?;
        at = start + array_len(&bytes[start..])?;
        shapes.push(&rest[start..at]);
        let end = behind(rest, at, " {\n")?;
        let body = bytes[end..].iter().find(|byte| **byte != b' ')?;
        if !body.is_ascii_alphabetic() && *body != b'%' {
            return None;
        }
        self.step(end - 1);
        Some(PlainComputation {
            is_entry,
            name: &rest[name_start..name_end],
            shapes,
        })
    }

    /// The fields of `{op_name="f" stack_frame_id=3}` in the order of the text.
    pub(crate) fn plain_fields<const N: usize>(
        &mut self,
        fields: &mut [Option<(&'t str, PlainField<'t>)>; N],
    ) -> Option<()> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut at = opening(bytes, b'{')?;
        for field in fields {
            let name = &rest[at..at + ident_len(&bytes[at..])?];
            let start = behind(rest, at + name.len(), "=")?;
            let (value, len) = if bytes.get(start) == Some(&b'"') {
                let len = string_len(&bytes[start..])?;
                (PlainField::String(&rest[start + 1..start + len - 1]), len)
            } else {
                let (value, len) = integer(&bytes[start..])?;
                (PlainField::Integer(value), len)
            };
            *field = Some((name, value));
            at = start + len;
            match bytes.get(at) {
                Some(b' ') => at += 1,
                Some(b'}') => {
                    self.step(at + 1);
                    return Some(());
                }
                _ => return None,
            }
        }
        None
    }

    fn step(&mut self, len: usize) -> &'t str {
        let start = self.at();
        self.move_to(start + len);
        self.text_from(start)
    }
}

/// The place behind `part`, which has to stand at `at`.
fn behind(text: &str, at: usize, part: &str) -> Option<usize> {
    text.as_bytes()[at..]
        .starts_with(part.as_bytes())
        .then_some(at + part.len())
}

/// 1 if `bracket` stands in front.
fn opening(bytes: &[u8], bracket: u8) -> Option<usize> {
    (bytes.first() == Some(&bracket)).then_some(1)
}

/// Whether white space or perhaps a comment begins with `byte`.
fn begins_blank(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b' ' | b'\t' | b'\r' | b'\n' | b'/'))
}

fn is_ident_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

fn ident_len(bytes: &[u8]) -> Option<usize> {
    let first = bytes.first()?;
    if !first.is_ascii_alphabetic() && *first != b'_' {
        return None;
    }
    let end = bytes.iter().position(|byte| !is_ident_byte(byte));
    Some(end.unwrap_or(bytes.len()))
}

fn name_len(bytes: &[u8]) -> Option<usize> {
    let percent = usize::from(bytes.first() == Some(&b'%'));
    Some(percent + ident_len(&bytes[percent..])?)
}

/// The length of a string in double quotes without escapes, with the quotes.
fn string_len(bytes: &[u8]) -> Option<usize> {
    let inner = opening(bytes, b'"')?;
    let end = inner + memchr2(b'"', b'\\', &bytes[inner..])?;
    (bytes[end] == b'"').then_some(end + 1)
}

/// An integer of at most 18 digits without a sign, and how many digits it has.
fn integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut value = 0_i64;
    let mut len = 0;
    while let Some(digit) = bytes.get(len).filter(|byte| byte.is_ascii_digit()) {
        if len == 18 {
            return None;
        }
        value = value * 10 + i64::from(digit - b'0');
        len += 1;
    }
    (len > 0).then_some((value, len))
}

/// The length of `f32[2,3]{1,0}` as the rule `plain_array` has it. The caller makes sure that no blank and
/// brace follow.
fn array_len(bytes: &[u8]) -> Option<usize> {
    if !bytes.first()?.is_ascii_lowercase() {
        return None;
    }
    let is_part = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let name = bytes.iter().position(|byte| !is_part(byte))?;
    let mut at = name + opening(&bytes[name..], b'[')?;
    if bytes.get(at) != Some(&b']') {
        at = integers_end(bytes, at)?;
    }
    at += opening(bytes.get(at..)?, b']')?;
    if bytes.get(at) == Some(&b'{') {
        at = integers_end(bytes, at + 1)?;
        at += opening(bytes.get(at..)?, b'}')?;
    }
    Some(at)
}

/// Where `2,3`, which begins at `at`, ends.
fn integers_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit());
        let count = digits.count();
        if count == 0 {
            return None;
        }
        at += count;
        if bytes.get(at) != Some(&b',') {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{PlainField, PlainHead};
    use crate::grammar::{Rule, match_at};
    use crate::split::Cursor;

    /// Inputs for all rules: usual ones, those at the borders of the plain forms, and wrong ones.
    const TEXTS: [&str; 52] = [
        "",
        "%",
        "%x",
        "%x.1-b_c, rest",
        "x{",
        "_",
        "1x",
        "\"a b\" c",
        "\"a\\\"b\"",
        "\"open",
        "'a'",
        "12)",
        "12, x",
        "12x",
        "-1)",
        "123456789012345678)",
        "1234567890123456789)",
        "{}",
        "{0}",
        "{0,1} x",
        "{0, 1}",
        "{0,  1}",
        "{0,/*c*/1}",
        "{0,}",
        "{-1}",
        "{0",
        ", dimensions={0}",
        ",index=1",
        ",  index=1",
        ", index =1",
        ", index= 1",
        ", index=/*c*/1",
        "%x, y)",
        ")",
        "%x , y)",
        "%x,\ny)",
        "f32[2] x)",
        "x#1)",
        "%x,)",
        "ROOT %sum = f32[2,3]{1,0} add(x",
        "x = f32[] parameter(0)",
        "ROOT = f32[] add(x",
        "ROOT.1 = f32[] add(x",
        "x = f32[2] {0} add(x",
        "x = f32[<=2] add(x",
        "x = (f32[]) tuple(x",
        "x = F32[2] add(x",
        "x = f32[2,] add(x",
        "x= f32[2]  add (x",
        "x = f32[2]{} add(x",
        "{op_name=\"f\" stack_frame_id=3}",
        "{a=1 b=\"\\n\"}",
    ];

    /// Asserts for every text: what `plain` makes of it is nothing, or what the grammar makes of it.
    fn same<T>(rule: Rule, plain: fn(&mut Cursor<'static>) -> Option<T>) {
        let mut taken = 0;
        for text in TEXTS {
            let mut cursor = Cursor::new(text);
            if plain(&mut cursor).is_none() {
                assert_eq!(cursor.at(), 0, "{rule:?} of {text}: moved");
                continue;
            }
            taken += 1;
            let node = match_at(rule, text, 0).expect(text);
            assert_eq!(cursor.at(), node.as_str().len(), "{rule:?} of {text}");
        }
        assert!(taken > 1, "{rule:?}: {taken}");
    }

    #[test]
    fn takes_as_much_as_the_grammar() {
        same(Rule::name, Cursor::plain_name);
        same(Rule::ident, Cursor::plain_ident);
        same(Rule::integer_value, Cursor::plain_integer);
        same(Rule::integer_list, Cursor::plain_integer_list);
        same(Rule::attribute_name, Cursor::plain_attribute_name);
        same(Rule::operand_list, Cursor::plain_operands);
        same(Rule::instruction_head, Cursor::plain_head);
        same(Rule::parameter_number, Cursor::plain_parameter_number);
    }

    #[test]
    fn takes_names_exactly_where_the_grammar_does() {
        for text in TEXTS {
            let name = match_at(Rule::name, text, 0).ok();
            let name = name.map(|node| node.as_str());
            assert_eq!(Cursor::new(text).plain_name(), name);
            let ident = match_at(Rule::ident, text, 0).ok();
            let ident = ident.map(|node| node.as_str());
            assert_eq!(Cursor::new(text).plain_ident(), ident);
        }
    }

    #[test]
    fn cuts_heads_as_the_grammar_does() {
        for text in TEXTS {
            let Some(PlainHead {
                name,
                shape,
                opcode,
                is_root,
            }) = Cursor::new(text).plain_head()
            else {
                continue;
            };
            let node = match_at(Rule::instruction_head, text, 0).expect(text);
            let parts: Vec<&str> = node.into_inner().map(|part| part.as_str()).collect();
            let root = if is_root { &["ROOT"][..] } else { &[] };
            assert_eq!(parts, [root, &[name, shape, opcode]].concat(), "{text}");
        }
    }

    #[test]
    fn cuts_operands_and_lists_as_the_grammar_does() {
        for text in TEXTS {
            let mut cursor = Cursor::new(text);
            if let Some(names) = cursor.plain_operands() {
                let node = match_at(Rule::operand_list, text, 0).expect(text);
                let names: Vec<&str> = names.iter().map(|span| cursor.text_at(*span)).collect();
                let parts: Vec<&str> = node.into_inner().map(|part| part.as_str()).collect();
                assert_eq!(names, parts);
            }
            if let Some(list) = Cursor::new(text).plain_integer_list() {
                let node = match_at(Rule::integer_list, text, 0).expect(text);
                let parts = node.into_inner().map(|part| part.as_str().to_owned());
                let parts: Vec<String> = parts.collect();
                let list: Vec<String> = list.iter().map(i64::to_string).collect();
                assert_eq!(list, parts);
            }
        }
    }

    #[test]
    fn cuts_fields_as_the_grammar_does() {
        let text = "{op_name=\"f[0]\" stack_frame_id=3}, x";
        let mut cursor = Cursor::new(text);
        let mut fields = [const { None }; 3];
        assert_eq!(cursor.plain_fields(&mut fields), Some(()));
        let node = match_at(Rule::metadata, text, 0).expect(text);
        assert_eq!(cursor.at(), node.as_str().len());
        let [Some((first, one)), Some((second, two)), None] = fields else {
            panic!("two fields");
        };
        assert_eq!((first, second), ("op_name", "stack_frame_id"));
        assert!(matches!(one, PlainField::String("f[0]")));
        assert!(matches!(two, PlainField::Integer(3)));
        for odd in [
            "{a=1}",
            "{a=1,b=2}",
            "{a=1  b=2}",
            "{a=1.5 b=2}",
            "{a=1 b=x}",
            "{}",
        ] {
            let taken = Cursor::new(odd).plain_fields(&mut [const { None }; 3]);
            assert_eq!(taken.is_some(), odd == "{a=1}", "{odd}");
        }
    }

    #[test]
    fn cuts_computations_as_the_grammar_does() {
        for text in [
            "%sum (x: f32[], y: f32[2]{0}) -> f32[] {\n  x",
            "ENTRY main () -> f32[2]{0} {\n  %x",
            "ENTRY main {\n  %x",
            "sum.1 {\n}",
        ] {
            let mut cursor = Cursor::new(text);
            let plain = cursor.plain_computation().expect(text);
            let node = match_at(Rule::computation_head, text, 0).expect(text);
            assert_eq!(cursor.at(), node.as_str().len());
            assert_eq!(plain.is_entry, text.starts_with("ENTRY"));
            let parts: Vec<_> = node
                .into_inner()
                .skip(usize::from(plain.is_entry))
                .collect();
            assert_eq!(plain.name, parts[0].as_str());
            let signature = parts.into_iter().nth(1);
            let shapes = signature.map_or(0, |signature| signature.into_inner().count());
            assert_eq!(plain.shapes.len(), shapes);
        }
        for odd in [
            "sum (x: f32[]) -> f32[] {\n 1",
            "ENTRY (x: f32[]) -> f32[] {\n x",
            "sum (x: (f32[])) -> f32[] {\n x",
            "sum (x: f32[],y: f32[]) -> f32[] {\n x",
            "sum { x",
            "ENTRY {\n x",
        ] {
            assert!(Cursor::new(odd).plain_computation().is_none(), "{odd}");
        }
    }
}
