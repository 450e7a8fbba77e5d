//! The four tables between the header and the computations, which metadata points into.

use hloc_diag::Diagnostic;
use hloc_ir::{FileLocation, StackFrame, StackTables};

use crate::Parsed;
use crate::fast::PlainField;
use crate::grammar::{Node, Rule};
use crate::module::Parser;
use crate::split::Cursor;
use crate::values;

impl<'t> Parser<'t> {
    /// Reads the tables that stand here; each may stand once.
    pub(crate) fn stack_tables(&mut self) -> Parsed<StackTables> {
        let mut tables = StackTables::default();
        let mut seen: Vec<&str> = Vec::new();
        loop {
            self.cursor.skip_blank()?;
            let words = ["FileNames", "FunctionNames", "FileLocations", "StackFrames"];
            if !words.iter().any(|word| self.cursor.at_word(word)) {
                return Ok(tables);
            }
            let name = self.cursor.take(Rule::table_name)?;
            let (span, name) = (self.cursor.span_of(&name), name.as_str());
            if seen.contains(&name) {
                let message = format!("the table `{name}` stands twice");
                return Err(Box::new(Diagnostic::error(
                    "duplicate-table",
                    message,
                    span,
                )));
            }
            seen.push(name);
            match name {
                "FileNames" => tables.file_names = self.rows(Rule::name_row, plain_text, text)?,
                "FunctionNames" => {
                    tables.function_names = self.rows(Rule::name_row, plain_text, text)?
                }
                "FileLocations" => {
                    tables.file_locations = self.rows(Rule::number_row, plain_location, location)?
                }
                _ => tables.stack_frames = self.rows(Rule::number_row, plain_frame, frame)?,
            }
        }
    }

    /// Reads rows numbered from 1 as long as a number stands here.
    fn rows<T>(
        &mut self,
        rule: Rule,
        plain: fn(&mut Cursor<'t>) -> Option<T>,
        read: fn(&Cursor<'t>, Node<'t>) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut rows = Vec::new();
        loop {
            self.cursor.skip_blank()?;
            if !self.cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Ok(rows);
            }
            let start = self.cursor.at();
            if self.cursor.plain_integer() == Some(rows.len() as i64 + 1)
                && self.cursor.eat(b' ')
                && let Some(row) = plain(&mut self.cursor)
            {
                rows.push(row);
                continue;
            }
            self.cursor.move_to(start);
            let row = self.cursor.take(rule)?;
            let number = row.clone().into_inner().next();
            let number = number.expect("the grammar demands a number in front");
            if values::integer(&self.cursor, &number)? != rows.len() as i64 + 1 {
                let message = format!(
                    "row {} stands where row {} is due",
                    number.as_str(),
                    rows.len() + 1
                );
                let span = self.cursor.span_of(&number);
                return Err(Box::new(Diagnostic::error("table-order", message, span)));
            }
            rows.push(read(&self.cursor, row)?);
        }
    }
}

fn plain_text(cursor: &mut Cursor<'_>) -> Option<Box<str>> {
    let quoted = cursor.plain_string()?;
    Some(quoted[1..quoted.len() - 1].into())
}

fn text<'t>(cursor: &Cursor<'t>, row: Node<'t>) -> Parsed<Box<str>> {
    let text = row.into_inner().nth(1);
    values::string(cursor, &text.expect("the grammar demands a string"))
}

const LOCATION: [&str; 6] = [
    "file_name_id",
    "function_name_id",
    "line",
    "end_line",
    "column",
    "end_column",
];

fn plain_location(cursor: &mut Cursor<'_>) -> Option<FileLocation> {
    plain_fields(cursor, LOCATION).map(location_of)
}

fn location<'t>(cursor: &Cursor<'t>, row: Node<'t>) -> Parsed<FileLocation> {
    fields(cursor, row, LOCATION).map(location_of)
}

/// The location whose fields are `numbers` in the order of [`LOCATION`].
fn location_of(numbers: [i64; 6]) -> FileLocation {
    let [
        file_name_id,
        function_name_id,
        line,
        end_line,
        column,
        end_column,
    ] = numbers;
    FileLocation {
        file_name_id,
        function_name_id,
        line,
        end_line,
        column,
        end_column,
    }
}

const FRAME: [&str; 2] = ["file_location_id", "parent_frame_id"];

fn plain_frame(cursor: &mut Cursor<'_>) -> Option<StackFrame> {
    plain_fields(cursor, FRAME).map(frame_of)
}

fn frame<'t>(cursor: &Cursor<'t>, row: Node<'t>) -> Parsed<StackFrame> {
    fields(cursor, row, FRAME).map(frame_of)
}

/// The frame whose fields are `numbers` in the order of [`FRAME`].
fn frame_of([file_location_id, parent_frame_id]: [i64; 2]) -> StackFrame {
    StackFrame {
        file_location_id,
        parent_frame_id,
    }
}

/// The numbers of a row whose fields stand in the order of `names`.
fn plain_fields<const N: usize>(cursor: &mut Cursor<'_>, names: [&str; N]) -> Option<[i64; N]> {
    let mut found = [const { None }; N];
    cursor.plain_fields(&mut found)?;
    let mut numbers = [0; N];
    for ((number, name), field) in numbers.iter_mut().zip(names).zip(found) {
        match field {
            Some((other, PlainField::Integer(value))) if other == name => *number = value,
            _ => return None,
        }
    }
    Some(numbers)
}

/// The numbers of a row in the order of `names`, each of which must stand once.
fn fields<'t, const N: usize>(
    cursor: &Cursor<'t>,
    row: Node<'t>,
    names: [&str; N],
) -> Parsed<[i64; N]> {
    let span = cursor.span_of(&row);
    let mut found = [None; N];
    for field in row.into_inner().skip(1) {
        let span = cursor.span_of(&field);
        let mut parts = field.into_inner();
        let (Some(name), Some(number)) = (parts.next(), parts.next()) else {
            continue;
        };
        let name = name.as_str();
        let place = names.iter().position(|other| *other == name);
        let slot = place.map(|place| &mut found[place]);
        match slot {
            Some(slot @ None) => *slot = Some(values::integer(cursor, &number)?),
            Some(Some(_)) => return Err(wrong_field(format!("`{name}` is written twice"), span)),
            None => return Err(wrong_field(format!("unknown field `{name}`"), span)),
        }
    }
    let missing = names.iter().zip(&found).find(|(_, value)| value.is_none());
    if let Some((name, _)) = missing {
        return Err(wrong_field(format!("the row lacks `{name}`"), span));
    }
    Ok(found.map(Option::unwrap_or_default))
}

fn wrong_field(message: String, span: hloc_diag::Span) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("table-field", message, span))
}
