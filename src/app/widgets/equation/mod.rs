//! Equations, set as in print: subscripts, fractions, and sums with what they run over below.
//!
//! A screen reader reads an equation as text: `φ*(a) = sum over b of ψ_C1(a, b)`.

mod layout;
mod notation;

use eframe::egui::{Response, Sense, TextStyle, Ui, Vec2, WidgetInfo, WidgetType};

use layout::Typesetter;
pub use notation::parse;

/// Indentation of an equation in a text, in points.
const EQUATION_INDENT: f32 = 24.0;

/// An equation, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Math {
    /// Names, symbols and operators. A line may end after a text that ends with a space.
    Text(String),
    /// Parts in a row.
    Row(Vec<Math>),
    /// A base and its subscript.
    Subscript(Box<Math>, Box<Math>),
    /// A sum sign, and below it what the sum runs over.
    Sum(Box<Math>),
    /// A numerator above a denominator.
    Fraction(Box<Math>, Box<Math>),
}

impl Math {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// `base` with the subscript `below`.
    #[must_use]
    pub fn subscript(base: &str, below: impl Into<String>) -> Self {
        Self::Subscript(Box::new(Self::text(base)), Box::new(Self::text(below)))
    }

    /// The equation in words and letters, for screen readers.
    #[must_use]
    pub fn spoken(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Row(parts) => {
                let last = parts.len().saturating_sub(1);
                let spoken = |(index, part): (usize, &Self)| match part {
                    // What follows a fraction must not sound like a part of its denominator.
                    Self::Fraction(..) if index < last => part.in_parentheses(),
                    _ => part.spoken(),
                };
                parts.iter().enumerate().map(spoken).collect()
            }
            Self::Subscript(base, below) => format!("{}_{}", base.spoken(), below.spoken()),
            Self::Sum(over) => format!("sum over {} of ", over.spoken().trim()),
            Self::Fraction(above, below) => {
                format!("{} / {}", above.in_parentheses(), below.in_parentheses())
            }
        }
    }

    /// As [`spoken`](Self::spoken), in parentheses if it has several parts or is a fraction.
    fn in_parentheses(&self) -> String {
        match self {
            Self::Row(parts) if parts.len() == 1 => parts[0].in_parentheses(),
            Self::Row(_) | Self::Fraction(..) => format!("({})", self.spoken()),
            _ => self.spoken(),
        }
    }
}

/// Draws `math` in the width that `ui` has left, in several lines if needed.
pub fn show(ui: &mut Ui, math: &Math) -> Response {
    let typesetter = typesetter(ui);
    let lines = typesetter.lines(math, ui.available_width());
    let width = lines.iter().map(|line| line.width).fold(0.0, f32::max);
    let height = lines.iter().map(|line| line.ascent + line.descent).sum();
    let (rect, response) = ui.allocate_exact_size(Vec2::new(width, height), Sense::hover());
    let colour = ui.visuals().text_color();
    let mut top = rect.top();
    for line in &lines {
        line.paint(ui.painter(), Vec2::new(rect.left(), top + line.ascent), colour);
        top += line.ascent + line.descent;
    }
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, math.spoken()));
    response
}

/// Width of `math` in one line, in points.
#[must_use]
pub fn width(ui: &Ui, math: &Math) -> f32 {
    typesetter(ui).lines(math, f32::INFINITY).iter().map(|line| line.width).sum()
}

/// Draws a text in which equations are between dollar signs, in the notation of [`parse`]. Each
/// equation gets a line of its own. An equation that cannot be parsed is shown
/// as plain text, without the dollar signs.
pub fn show_text(ui: &mut Ui, text: &str) {
    for (part, is_equation) in parts(text) {
        match parse(part) {
            Ok(math) if is_equation => {
                ui.horizontal(|ui| {
                    ui.add_space(EQUATION_INDENT);
                    show(ui, &math);
                });
            }
            _ => _ = ui.label(part),
        }
    }
}

/// Checks the equations of a text for [`show_text`].
///
/// # Errors
/// If the last equation has no closing dollar sign. Otherwise, the mistake in the first equation
/// that cannot be parsed.
pub fn check_text(text: &str) -> Result<(), String> {
    if !text.matches('$').count().is_multiple_of(2) {
        return Err("a '$' begins an equation, and there is no '$' that ends it".to_owned());
    }
    for (equation, _) in parts(text).filter(|(_, is_equation)| *is_equation) {
        parse(equation).map_err(|message| format!("in equation '{equation}': {message}"))?;
    }
    Ok(())
}

/// The parts of a text between dollar signs, and whether each is an equation.
fn parts(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let parts = text.split('$').enumerate().map(|(index, part)| (part.trim(), index % 2 == 1));
    parts.filter(|(part, _)| !part.is_empty())
}

fn typesetter(ui: &Ui) -> Typesetter<'_> {
    // Subscripts are smaller, so the equation is a little larger than the text around it.
    const SCALE: f32 = 1.1;
    let size = SCALE * TextStyle::Body.resolve(ui.style()).size;
    Typesetter { painter: ui.painter(), size }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Color32, FontId};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    fn message() -> Math {
        parse("φ*(either) = sum_(lung, tub) ψ_C1(either, lung, tub)").unwrap()
    }

    #[test]
    fn a_screen_reader_reads_the_equation_as_text() {
        let harness = Harness::new_ui(|ui| _ = show(ui, &message()));
        harness.get_by_label("φ*(either) = sum over lung, tub of ψ_C1(either, lung, tub)");
        let ratio = parse("frac(|φ_S| + 1)(n)").unwrap();
        assert_eq!(ratio.spoken(), "(|φ_S| + 1) / n");
        let nested = parse("frac(a)(frac(b)(c))").unwrap();
        assert_eq!(nested.spoken(), "a / (b / c)");
        let nested = parse("frac(frac(a)(b))(c)").unwrap();
        assert_eq!(nested.spoken(), "(a / b) / c");
    }

    #[test]
    fn a_long_equation_is_broken_into_lines_within_the_width() {
        let sizes = std::cell::RefCell::new(Vec::new());
        let harness = Harness::new_ui(|ui| {
            let whole = width(ui, &message());
            for limit in [2.0 * whole, 0.7 * whole] {
                ui.scope(|ui| {
                    ui.set_max_width(limit);
                    sizes.borrow_mut().push((show(ui, &message()).rect.size(), limit));
                });
            }
        });
        drop(harness);
        let sizes = sizes.into_inner();
        let [(one_line, _), (broken, limit)] = sizes[..2] else { panic!("{sizes:?}") };
        assert!(broken.x <= limit && broken.x < one_line.x, "{sizes:?}");
        assert!(broken.y > one_line.y, "{sizes:?}");
    }

    #[test]
    fn every_symbol_of_an_equation_has_a_glyph() {
        /// A character without a glyph, because Unicode leaves it to private use.
        const UNKNOWN: char = '\u{10fffd}';
        let harness = Harness::new_ui(|ui| {
            let image = |symbol: char, font: FontId| {
                let text = symbol.to_string();
                let galley = ui.painter().layout_no_wrap(text, font, Color32::WHITE);
                galley.rows[0].row.glyphs[0].uv_rect
            };
            for symbol in "Σψφτ←·≤≥∈|*+−=/()…".chars() {
                let font = typesetter(ui).font(symbol, 14.0);
                assert_ne!(image(symbol, font.clone()), image(UNKNOWN, font), "{symbol}");
            }
        });
        drop(harness);
    }

    #[test]
    fn a_text_is_cut_at_its_equations() {
        let harness = Harness::new_ui(|ui| {
            show_text(ui, "A message is $φ*_S = sum_x ψ$ for all x. $frac(1$");
        });
        harness.get_by_label("A message is");
        harness.get_by_label("φ*_S = sum over x of ψ");
        harness.get_by_label("for all x.");
        harness.get_by_label("frac(1");
    }

    #[test]
    fn a_mistake_in_an_equation_of_a_text_is_reported() {
        assert_eq!(check_text("A sum: $sum_x f(x)$, and no more."), Ok(()));
        let message = check_text("A sum: $sum_(x$").unwrap_err();
        assert_eq!(message, "in equation 'sum_(x': expected ')' after 'sum_(x'");
        assert!(check_text("It costs $5.").unwrap_err().contains("no '$' that ends it"));
    }
}
