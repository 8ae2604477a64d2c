//! Text in one line, shortened in the middle if it does not fit.

use std::borrow::Cow;
use std::sync::Arc;

use eframe::egui::{Color32, FontId, Galley, Painter};

/// `text` in one line of at most `width` points. If `text` is wider, an ellipsis replaces letters
/// in its middle: names in one network often differ only at their ends.
#[must_use]
pub fn one_line(
    painter: &Painter,
    text: &str,
    font: FontId,
    colour: Color32,
    width: f32,
) -> Arc<Galley> {
    let shown = painter.fonts_mut(|fonts| {
        shortened(text, width, |letter| fonts.glyph_width(&font, letter)).into_owned()
    });
    painter.layout_no_wrap(shown, font, colour)
}

/// `text`, shortened in the middle to at most `width`, where `width_of` gives the width of each
/// letter. Empty if not even one letter and the ellipsis fit.
#[must_use]
pub fn shortened(text: &str, width: f32, mut width_of: impl FnMut(char) -> f32) -> Cow<'_, str> {
    let letters: Vec<(char, f32)> = text.chars().map(|letter| (letter, width_of(letter))).collect();
    if letters.iter().map(|(_, width)| width).sum::<f32>() <= width {
        return Cow::Borrowed(text);
    }
    let (mut head, mut tail) = (0, 0);
    let mut used = width_of('…');
    // Letters are taken from both ends in turn, beginning with the first.
    while head + tail < letters.len() {
        let from_head = head <= tail;
        let index = if from_head { head } else { letters.len() - 1 - tail };
        used += letters[index].1;
        if used > width {
            break;
        }
        if from_head {
            head += 1;
        } else {
            tail += 1;
        }
    }
    if head == 0 {
        return Cow::Borrowed("");
    }
    let all = |part: &[(char, f32)]| part.iter().map(|(letter, _)| *letter).collect::<String>();
    Cow::Owned(format!("{}…{}", all(&letters[..head]), all(&letters[letters.len() - tail..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_left_out_and_both_ends_are_kept() {
        let short = |text: &'static str, width: f32| shortened(text, width, |_| 1.0).into_owned();
        assert_eq!(short("R_MEDD2_AMPR_EW", 15.0), "R_MEDD2_AMPR_EW");
        assert_eq!(short("R_MEDD2_AMPR_EW", 14.0), "R_MEDD2…MPR_EW");
        assert_eq!(short("R_MEDD2_AMPR_EW", 6.0), "R_M…EW");
        assert_eq!(short("R_MEDD2_AMPR_EW", 2.5), "R…");
        assert_eq!(short("R_MEDD2_AMPR_EW", 1.0), "");
        assert_eq!(short("", 1.0), "");
    }
}
