//! Text in one line, shortened in the middle or at the end if it does not fit.

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

/// Minimum number of letters that [`cut_at_end`] leaves of a word. Fewer letters do not tell what
/// the word was.
const MIN_LETTERS: usize = 3;

/// `text`, cut at its end to at most `width`, where `width_of` gives the width of each letter. An
/// ellipsis replaces what is missing. A word with a number, such as `C12`, is kept whole or left
/// out, because a part of it would be another number. Empty if too little fits to be understood.
#[must_use]
pub fn cut_at_end(text: &str, width: f32, mut width_of: impl FnMut(char) -> f32) -> Cow<'_, str> {
    let total: f32 = text.chars().map(&mut width_of).sum();
    if total <= width {
        return Cow::Borrowed(text);
    }
    let ellipsis = width_of('…');
    let (mut kept, mut used) = (0, 0.0);
    for (index, letter) in text.char_indices() {
        used += width_of(letter);
        if used + ellipsis > width {
            break;
        }
        kept = index + letter.len_utf8();
    }
    let word_start = text[..kept].rfind(' ').map_or(0, |space| space + 1);
    let word_end = text[kept..].find(' ').map_or(text.len(), |space| kept + space);
    let word = &text[word_start..word_end];
    let has_number = word.contains(|letter: char| letter.is_ascii_digit());
    let is_short = text[word_start..kept].chars().count() < MIN_LETTERS;
    if kept < word_end && (has_number || is_short) {
        kept = word_start;
    }
    let shown = text[..kept].trim_end();
    if shown.is_empty() {
        return Cow::Borrowed("");
    }
    Cow::Owned(format!("{shown}…"))
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
    #[test]
    fn the_end_is_cut_but_numbers_and_short_words_are_kept_whole_or_left_out() {
        let cut = |text: &'static str, width: f32| cut_at_end(text, width, |_| 1.0).into_owned();
        assert_eq!(cut("C12 to C7", 9.0), "C12 to C7");
        assert_eq!(cut("C12 to C7", 8.0), "C12 to…");
        assert_eq!(cut("C12 to C123", 10.0), "C12 to…");
        assert_eq!(cut("C12 to C7", 6.0), "C12…");
        assert_eq!(cut("C12 to C7", 4.0), "C12…");
        assert_eq!(cut("C12 to C7", 3.0), "");
        assert_eq!(cut("C7 to C12", 3.0), "C7…");
        assert_eq!(cut("part of C12 to C7", 11.0), "part of…");
        assert_eq!(cut("read posteriors", 9.0), "read pos…");
        assert_eq!(cut("read posteriors", 8.0), "read…");
        assert_eq!(cut("read posteriors", 4.0), "rea…");
        assert_eq!(cut("read posteriors", 3.0), "");
        assert_eq!(cut("", 1.0), "");
    }
}
