//! TOML with the place of every value, and every syntax error at once.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Line and column, both from 1; columns count characters.
type Place = (usize, usize);
type Parsed<'py> = (
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
    Vec<(usize, usize, String)>,
);

/// Parse a TOML text: (values, places, errors).
///
/// `places` maps the path of each value, a tuple of keys and indices, to the (line, column) of its key and of its value.
/// `errors` are (line, column, message); with errors, the values are what could be recovered. Dates become texts.
#[pyfunction]
pub(crate) fn parse_toml<'py>(py: Python<'py>, text: &str) -> PyResult<Parsed<'py>> {
    let (root, faults) = py.detach(|| DeTable::parse_recoverable(text));
    let mut reader = Reader {
        py,
        lines: Lines::new(text),
        places: PyDict::new(py),
        errors: Vec::new(),
    };
    for fault in faults {
        let start = fault.span().map_or(text.len(), |span| span.start);
        reader.complain(start, fault.message().to_owned());
    }
    let values = reader.table(root.get_ref(), &[])?;
    reader.errors.sort();
    Ok((values, reader.places, reader.errors))
}

struct Reader<'py, 'text> {
    py: Python<'py>,
    lines: Lines<'text>,
    places: Bound<'py, PyDict>,
    errors: Vec<(usize, usize, String)>,
}

impl<'py> Reader<'py, '_> {
    fn complain(&mut self, offset: usize, message: String) {
        let (line, column) = self.lines.place(offset);
        self.errors.push((line, column, message));
    }

    fn table(
        &mut self,
        table: &DeTable<'_>,
        path: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(self.py);
        for (key, value) in table {
            let name = key.get_ref().as_ref().into_bound_py_any(self.py)?;
            let below = [path, std::slice::from_ref(&name)].concat();
            self.note(&below, key.span().start, value.span().start)?;
            values.set_item(name, self.value(value, &below)?)?;
        }
        Ok(values)
    }

    fn array(
        &mut self,
        items: &[Spanned<DeValue<'_>>],
        path: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyList>> {
        let values = PyList::empty(self.py);
        for (index, item) in items.iter().enumerate() {
            let below = [path, &[index.into_bound_py_any(self.py)?]].concat();
            self.note(&below, item.span().start, item.span().start)?;
            values.append(self.value(item, &below)?)?;
        }
        Ok(values)
    }

    fn value(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        path: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        match value.get_ref() {
            DeValue::String(text) => text.as_ref().into_bound_py_any(self.py),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => number.into_bound_py_any(self.py),
                    Err(_) => self.unfit(value, "an integer that does not fit 64 bits"),
                }
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(number) => number.into_bound_py_any(self.py),
                Err(_) => self.unfit(value, "a number that cannot be read"),
            },
            DeValue::Boolean(truth) => truth.into_bound_py_any(self.py),
            DeValue::Datetime(moment) => moment.to_string().into_bound_py_any(self.py),
            DeValue::Array(items) => Ok(self.array(items, path)?.into_any()),
            DeValue::Table(table) => Ok(self.table(table, path)?.into_any()),
        }
    }

    fn unfit(&mut self, value: &Spanned<DeValue<'_>>, what: &str) -> PyResult<Bound<'py, PyAny>> {
        self.complain(value.span().start, what.to_owned());
        self.py.None().into_bound_py_any(self.py)
    }

    fn note(&self, path: &[Bound<'py, PyAny>], key: usize, value: usize) -> PyResult<()> {
        let places: (Place, Place) = (self.lines.place(key), self.lines.place(value));
        self.places.set_item(PyTuple::new(self.py, path)?, places)
    }
}

/// Byte offsets to lines and columns.
struct Lines<'text> {
    text: &'text str,
    starts: Vec<usize>,
}

impl<'text> Lines<'text> {
    fn new(text: &'text str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        let before = self.text.get(start..offset).unwrap_or("");
        (line, before.chars().count() + 1)
    }
}
