//! Reads constants and structs from the sources of the kernels, for tests that compare them with
//! their counterparts in Rust.
//!
//! Sources are read paragraph by paragraph; an empty line ends a paragraph. A paragraph is *shared*
//! if a line of it begins with `//` and has the word "Shared". All constants and structs of a
//! shared paragraph must have counterparts in Rust.

use std::collections::BTreeMap;

use super::kernels::tests::folder;

/// A struct's name, its size in bytes, and its fields with their offsets in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub name: &'static str,
    pub size: usize,
    pub fields: Vec<(&'static str, usize)>,
}

/// The [`Layout`] of a struct. All its fields must be given.
macro_rules! layout {
    ($name:ident { $($field:ident),* $(,)? }) => {{
        // Does not compile if a field is missing.
        let $name { $($field: _),* } = <$name as bytemuck::Zeroable>::zeroed();
        $crate::engine::cuda::kernel_source::Layout {
            name: stringify!($name),
            size: size_of::<$name>(),
            fields: vec![$((stringify!($field), std::mem::offset_of!($name, $field))),*],
        }
    }};
}
pub(super) use layout;

/// Checks that the shared constants of a source are exactly `expected`. `kernel`: the path of the
/// source in kernels/; the extension .cu can be left out.
pub(super) fn assert_constants(kernel: &str, expected: &[(&str, f64)]) {
    let source = read_source(kernel);
    let expected: BTreeMap<String, f64> =
        expected.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(shared_constants(&source), expected, "{kernel}");
}

/// Checks that a kernel has exactly one shared struct, and that the struct has the layout
/// `expected`.
pub(super) fn assert_layout(kernel: &str, expected: Layout) {
    assert_layouts(kernel, vec![expected]);
}

/// Checks that the shared structs of a kernel have exactly the layouts `expected`, in this order.
pub(super) fn assert_layouts(kernel: &str, expected: Vec<Layout>) {
    let described = expected.into_iter().map(|Layout { name, size, fields }| {
        let fields = fields.into_iter().map(|(name, offset)| (name.to_owned(), offset));
        (name.to_owned(), size, fields.collect())
    });
    let source = read_source(kernel);
    assert_eq!(shared_structs(&source), described.collect::<Vec<Struct>>(), "{kernel}");
}

fn read_source(kernel: &str) -> String {
    let mut path = folder().join(kernel);
    if path.extension().is_none() {
        path.set_extension("cu");
    }
    std::fs::read_to_string(path).unwrap()
}

/// The paragraphs of a source, and whether each is shared.
fn paragraphs(source: &str) -> impl Iterator<Item = (&str, bool)> {
    source.split("\n\n").map(|paragraph| {
        let mut lines = paragraph.lines();
        let is_comment = |line: &str| line.trim_start().starts_with("//");
        (paragraph, lines.any(|line| is_comment(line) && line.contains("Shared")))
    })
}

/// The lines of a paragraph without comments.
fn code(paragraph: &str) -> impl Iterator<Item = &str> {
    paragraph.lines().map(|line| line.split("//").next().unwrap_or("").trim())
}

/// The names and values of the constants of all shared paragraphs.
fn shared_constants(source: &str) -> BTreeMap<String, f64> {
    let mut known = BTreeMap::new();
    let mut shared = BTreeMap::new();
    for (paragraph, is_shared) in paragraphs(source) {
        for line in code(paragraph) {
            let Some(definition) = line.strip_prefix("static const ") else { continue };
            let (declaration, value) =
                definition.trim_end_matches(';').split_once(" = ").expect("one line per constant");
            let name = declaration.rsplit(' ').next().unwrap().to_owned();
            let value = evaluate(value, &known);
            if is_shared {
                let value = value.unwrap_or_else(|| panic!("cannot evaluate {definition}"));
                shared.insert(name.clone(), value);
            }
            // Constants of templates have no value.
            known.extend(value.map(|value| (name, value)));
        }
    }
    shared
}

/// The value of an expression: literals and known constants, multiplied or divided from left to
/// right. `None` if there is anything else in it.
fn evaluate(expression: &str, known: &BTreeMap<String, f64>) -> Option<f64> {
    let mut tokens = expression.split(' ');
    let mut value = operand(tokens.next()?, known)?;
    while let Some(operator) = tokens.next() {
        let next = operand(tokens.next()?, known)?;
        value = match operator {
            "*" => value * next,
            "/" => value / next,
            _ => return None,
        };
    }
    Some(value)
}

fn operand(token: &str, known: &BTreeMap<String, f64>) -> Option<f64> {
    let (sign, digits) = match token.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, token),
    };
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex.trim_end_matches('u'), 16).ok()? as f64,
        None => digits.parse().ok().or_else(|| known.get(digits).copied())?,
    };
    Some(sign * magnitude)
}

/// A struct's name, its size in bytes, and its fields with their offsets in bytes.
type Struct = (String, usize, Vec<(String, usize)>);

/// The structs of all shared paragraphs.
fn shared_structs(source: &str) -> Vec<Struct> {
    let mut found = Vec::new();
    for (paragraph, _) in paragraphs(source).filter(|(_, is_shared)| *is_shared) {
        let mut lines = code(paragraph);
        while let Some(line) = lines.next() {
            let Some(name) = line.strip_prefix("struct ") else { continue };
            let name = name.trim_end_matches(" {").to_owned();
            let body = lines.by_ref().take_while(|line| *line != "};");
            let body: String = body.collect::<Vec<_>>().join(" ");
            found.push(with_offsets(name, &body));
        }
    }
    found
}

/// The struct `name` with the fields of `body`, laid out as in C: each field is at the next
/// multiple of the size of its type.
fn with_offsets(name: String, body: &str) -> Struct {
    let (mut fields, mut size, mut alignment) = (Vec::new(), 0_usize, 1);
    for declaration in body.split(';').map(str::trim).filter(|text| !text.is_empty()) {
        let types = [
            ("unsigned long long ", 8),
            ("unsigned short ", 2),
            ("unsigned char ", 1),
            ("unsigned ", 4),
            ("int ", 4),
        ];
        let (names, bytes) = types
            .iter()
            .find_map(|(prefix, bytes)| Some((declaration.strip_prefix(prefix)?, *bytes)))
            .unwrap_or_else(|| panic!("unknown type in {declaration}"));
        alignment = alignment.max(bytes);
        for name in names.split(", ") {
            let (name, count) = match name.trim_end_matches(']').split_once('[') {
                Some((name, count)) => (name, count.parse().unwrap()),
                None => (name, 1),
            };
            let offset = size.next_multiple_of(bytes);
            fields.push((name.to_owned(), offset));
            size = offset + bytes * count;
        }
    }
    (name, size.next_multiple_of(alignment), fields)
}

#[test]
fn constants_and_structs_of_shared_paragraphs_are_read() {
    let source = "// Shared.\nstatic const unsigned A = 0x10;\nstatic const int B = -A;\n\n\
        static const unsigned HALF = A / 2;\n\n// Shared\nstatic const double C = 3 * HALF;\n\n\
        // Shared\nstruct S {\n    unsigned a;  // first\n    unsigned long long b;\n    \
        int c[3];\n    unsigned char d;\n    unsigned short e;\n};";
    let constants = [("A", 16.0), ("B", -16.0), ("C", 24.0)];
    assert_eq!(shared_constants(source), constants.map(|(n, v)| (n.to_owned(), v)).into());
    let fields =
        [("a", 0), ("b", 8), ("c", 16), ("d", 28), ("e", 30)].map(|(n, at)| (n.to_owned(), at));
    assert_eq!(shared_structs(source), [("S".to_owned(), 32, fields.into())]);
}
