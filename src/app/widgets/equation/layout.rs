//! Positions of the parts of an equation.

use std::sync::Arc;

use eframe::egui::{Color32, FontFamily, FontId, Galley, Painter, Rect, Vec2};

use super::Math;

// All lengths are in multiples of the font size, unless a comment says otherwise. They follow the
// usual proportions of printed mathematics; a wrong value makes an equation ugly, not wrong.

/// Height of letters above the baseline, and depth of letters below it.
const LETTER: [f32; 2] = [0.78, 0.24];
/// Height of the line of a fraction and of the middle of a sum sign above the baseline.
const AXIS: f32 = 0.27;
/// Font size of subscripts, and of what a sum runs over.
const SMALL: f32 = 0.74;
/// Depth of a subscript's baseline.
const SUBSCRIPT: f32 = 0.22;
/// Font size of the sum sign.
const SIGN: f32 = 1.6;
/// Height of a capital letter, in multiples of its own font size.
const CAPITAL: f32 = 0.69;
/// Space between two lines of an equation, around the line of a fraction, and between a sum sign
/// and what is below it.
const GAP: f32 = 0.14;
/// Space to the right of a sum sign.
const AFTER_SIGN: f32 = 0.2;
/// Maximum width of what is below a sum sign, in multiples of the font size of these small letters.
/// Longer lists of variables get several lines.
const BELOW_SIGN: f32 = 11.0;
/// Indentation of all lines but the first.
const INDENT: f32 = 1.2;
/// Thickness of the line of a fraction. It is drawn at least one point thick.
const RULE: f32 = 1.0 / 14.0;

/// Lays out equations.
pub(super) struct Typesetter<'p> {
    pub painter: &'p Painter,
    /// The font size, in points.
    pub size: f32,
}

/// A part of an equation after layout. The positions of its texts and lines are in points, relative
/// to the left end of the baseline; y grows downward.
#[derive(Default)]
pub(super) struct Block {
    texts: Vec<(Vec2, Arc<Galley>)>,
    /// The lines of fractions.
    rules: Vec<Rect>,
    pub width: f32,
    /// Height above the baseline.
    pub ascent: f32,
    /// Depth below the baseline.
    pub descent: f32,
}

impl Block {
    /// Adds `other` with its baseline at `offset` from the baseline of this block.
    fn add(&mut self, other: Self, offset: Vec2) {
        self.texts.extend(other.texts.into_iter().map(|(at, galley)| (at + offset, galley)));
        self.rules.extend(other.rules.into_iter().map(|rule| rule.translate(offset)));
        self.width = self.width.max(offset.x + other.width);
        self.ascent = self.ascent.max(other.ascent - offset.y);
        self.descent = self.descent.max(other.descent + offset.y);
    }

    /// Adds `other` to the right.
    fn append(&mut self, other: Self) {
        let end = Vec2::new(self.width, 0.0);
        self.add(other, end);
    }

    /// Paints the block with the left end of its baseline at `origin`.
    pub fn paint(&self, painter: &Painter, origin: Vec2, colour: Color32) {
        for (at, galley) in &self.texts {
            painter.galley((*at + origin).to_pos2(), Arc::clone(galley), colour);
        }
        for rule in &self.rules {
            painter.rect_filled(rule.translate(origin), 0, colour);
        }
    }
}

impl Typesetter<'_> {
    /// The lines of `math`, each at most `width` points wide if the parts allow it.
    pub fn lines(&self, math: &Math, width: f32) -> Vec<Block> {
        let parts = match math {
            Math::Row(parts) => &parts[..],
            part => std::slice::from_ref(part),
        };
        let mut lines = vec![Block::default()];
        // Parts that stay together, because no line may end between them.
        let mut group = Block::default();
        for (index, part) in parts.iter().enumerate() {
            group.append(self.block(part));
            let may_end = matches!(part, Math::Text(text) if text.ends_with(' '));
            if !may_end && index + 1 < parts.len() {
                continue;
            }
            let group = std::mem::take(&mut group);
            let line = lines.last_mut().expect("at least one line");
            if line.width > 0.0 && line.width + group.width > width {
                line.descent += GAP * self.size;
                lines.push(Block { width: INDENT * self.size, ..Block::default() });
            }
            lines.last_mut().expect("at least one line").append(group);
        }
        lines
    }

    /// The layout of `math` in one line.
    fn block(&self, math: &Math) -> Block {
        match math {
            Math::Text(text) => self.text(text),
            Math::Row(parts) => {
                let mut row = Block::default();
                parts.iter().for_each(|part| row.append(self.block(part)));
                row
            }
            Math::Subscript(base, below) => {
                let mut block = self.block(base);
                let right = block.width;
                let below = self.scaled(SMALL).block(below);
                block.add(below, Vec2::new(right, SUBSCRIPT * self.size));
                block
            }
            Math::Sum(over) => self.sum(over),
            Math::Fraction(above, below) => self.fraction(above, below),
        }
    }

    fn scaled(&self, factor: f32) -> Self {
        Self { size: factor * self.size, ..*self }
    }

    /// A sum sign with `over`, in small letters, centred below it.
    fn sum(&self, over: &Math) -> Block {
        let size = self.size;
        let small = self.scaled(SMALL);
        let mut below = small.lines(over, BELOW_SIGN * small.size);
        for line in below.iter_mut().skip(1) {
            // Centred lines are not indented.
            let indent = INDENT * small.size;
            line.texts.iter_mut().for_each(|(at, _)| at.x -= indent);
            line.width -= indent;
        }
        let sign = self.scaled(SIGN).text("Σ");
        let width = below.iter().map(|line| line.width).fold(sign.width, f32::max);
        let half_sign = SIGN * CAPITAL * size / 2.0;
        // The baseline of the sign, below the baseline of the block.
        let bottom = half_sign - AXIS * size;
        let mut block = Block::default();
        let left = (width - sign.width) / 2.0;
        block.texts.extend(
            sign.texts.into_iter().map(|(at, galley)| (at + Vec2::new(left, bottom), galley)),
        );
        block.ascent = half_sign + AXIS * size;
        block.descent = bottom;
        for line in below {
            let offset =
                Vec2::new((width - line.width) / 2.0, block.descent + GAP * size + line.ascent);
            block.add(line, offset);
        }
        block.width = width + AFTER_SIGN * size;
        block
    }

    /// `above` and `below`, both centred, with a line between them.
    fn fraction(&self, above: &Math, below: &Math) -> Block {
        let [above, below] = [above, below].map(|part| self.block(part));
        let (axis, gap) = (AXIS * self.size, GAP * self.size);
        let width = above.width.max(below.width) + 2.0 * gap;
        let centred = |part: &Block| (width - part.width) / 2.0;
        let mut block = Block { width, ..Block::default() };
        let thickness = (RULE * self.size).max(1.0);
        let line =
            Rect::from_min_size([0.0, -axis - thickness / 2.0].into(), [width, thickness].into());
        block.rules.push(line);
        let up = Vec2::new(centred(&above), -axis - gap - above.descent);
        let down = Vec2::new(centred(&below), -axis + gap + below.ascent);
        block.add(above, up);
        block.add(below, down);
        block
    }

    /// `text` in one line. Only the characters that the proportional font lacks are set in the
    /// monospaced font, because spaces in the monospaced font are much wider.
    fn text(&self, text: &str) -> Block {
        let mut block = Block::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let font = self.font(first, self.size);
            let end = rest.find(|letter| self.font(letter, self.size) != font);
            let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
            block.append(self.run(run, font));
            rest = after;
        }
        block
    }

    /// `text` in one line and in one font.
    fn run(&self, text: &str, font: FontId) -> Block {
        let galley = self.painter.layout_no_wrap(text.to_owned(), font, Color32::PLACEHOLDER);
        let row = galley.rows.first();
        let baseline = row.and_then(|row| Some(row.pos.y + row.row.glyphs.first()?.pos.y));
        let width = galley.size().x;
        let at = Vec2::new(0.0, -baseline.unwrap_or(0.0));
        let [ascent, descent] = LETTER.map(|part| part * self.size);
        Block { texts: vec![(at, galley)], rules: Vec::new(), width, ascent, descent }
    }

    /// The proportional font if it has `letter`, otherwise the monospaced font.
    pub fn font(&self, letter: char, size: f32) -> FontId {
        let proportional = FontId::new(size, FontFamily::Proportional);
        let has_it = self.painter.fonts_mut(|fonts| fonts.has_glyph(&proportional, letter));
        if has_it { proportional } else { FontId::new(size, FontFamily::Monospace) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{parse, typesetter};
    use super::*;

    /// Lays `equation` out in one line, and returns what `check` returns for this block and the
    /// font size.
    fn laid_out<T>(equation: &str, check: impl Fn(&Block, f32) -> T) -> T {
        let math = parse(equation).unwrap();
        let result = std::cell::RefCell::new(None);
        let harness = egui_kittest::Harness::new_ui(|ui| {
            let typesetter = typesetter(ui);
            let block = typesetter.lines(&math, f32::INFINITY).remove(0);
            *result.borrow_mut() = Some(check(&block, typesetter.size));
        });
        drop(harness);
        result.into_inner().expect("a frame")
    }

    /// Each text with its left edge, its baseline and its height.
    fn places(block: &Block) -> Vec<(String, f32, f32, f32)> {
        let place = |(at, galley): &(Vec2, Arc<Galley>)| {
            let row = &galley.rows[0];
            let baseline = at.y + row.pos.y + row.row.glyphs[0].pos.y;
            (galley.text().to_owned(), at.x, baseline, galley.size().y)
        };
        block.texts.iter().map(place).collect()
    }

    #[test]
    fn a_subscript_is_smaller_and_lower_and_to_the_right() {
        let places = laid_out("ψ_C1", |block, _| places(block));
        let [(_, left, baseline, height), (_, sub_left, sub_baseline, sub_height)] = &places[..]
        else {
            panic!("{places:?}")
        };
        assert!(sub_left > left && sub_baseline > baseline && sub_height < height, "{places:?}");
    }

    #[test]
    fn a_space_after_a_symbol_is_as_wide_as_between_words() {
        let gap = |text: &str| {
            let letters = |text: &str| laid_out(text, |block, _| block.width);
            letters(text) - letters(&text.replace(' ', ""))
        };
        let (words, symbol) = (gap("k S"), gap("k∈ S"));
        assert!((words - symbol).abs() < 1.0, "{words} and {symbol}");
    }

    #[test]
    fn what_a_sum_runs_over_is_below_the_sign_and_a_long_list_gets_several_lines() {
        let (places, width, size) =
            laid_out("sum_(lung, tub)", |block, size| (places(block), block.width, size));
        let [(sign, left, baseline, _), below @ ..] = &places[..] else { panic!("{places:?}") };
        assert_eq!(sign, "Σ");
        assert!(*left > 0.0 && *left < width / 2.0, "{places:?}");
        assert!(below.iter().all(|(_, _, below, _)| *below > baseline + 0.3 * size), "{places:?}");
        let names: Vec<String> = (0..30).map(|index| format!("variable{index}")).collect();
        let long_sum = format!("sum_({})", names.join(", "));
        let (width, height, size) =
            laid_out(&long_sum, |block, size| (block.width, block.descent, size));
        assert!(
            width < (BELOW_SIGN + 1.0) * size && height > 5.0 * size,
            "a long list gets several lines"
        );
    }

    #[test]
    fn a_fraction_has_its_line_between_its_parts() {
        let (places, rule) = laid_out("frac(a)(b)", |block, _| (places(block), block.rules[0]));
        assert!(places[0].2 < rule.top() && rule.bottom() < places[1].2, "{places:?} {rule:?}");
    }
}
