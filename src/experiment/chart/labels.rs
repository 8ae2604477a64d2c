//! Placing the labels of points so that they cover neither dots nor each other, where possible.

/// A rectangle in pixels; y grows downward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelBox {
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Lower edge.
    pub bottom: f64,
}

/// A label to place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointLabel {
    /// The point that it belongs to, in pixels.
    pub point: (f64, f64),
    /// Width and height of its text, in pixels.
    pub size: (f64, f64),
}

/// Where a label goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// The rectangle of the text.
    pub label: LabelBox,
    /// Whether the label is between the left and the right edge of the panel, and touches no dot
    /// and no earlier label.
    pub is_free: bool,
}

/// Places each label next to its point: at the right, at the left, above, below, or at the upper or
/// lower right, whichever is free first. If none of these positions is free, takes the first
/// between `left` and `right`, the edges of the panel, or else the position at the right. `dots`
/// are all dots of the panel, which labels should not cover. All positions are in pixels.
///
/// # Complexity
/// O(labels · (labels + dots)).
#[must_use]
pub fn place_labels(
    labels: &[PointLabel],
    dots: &[(f64, f64)],
    (left, right): (f64, f64),
) -> Vec<Placement> {
    let mut taken: Vec<LabelBox> = dots.iter().map(around).collect();
    let mut placements = Vec::with_capacity(labels.len());
    for &PointLabel { point, size } in labels {
        let candidates = candidates(point, size);
        let is_inside = |b: &&LabelBox| b.left >= left && b.right <= right;
        let is_free = |b: &&LabelBox| is_inside(b) && !taken.iter().any(|t| t.touches(b));
        let free = candidates.iter().find(is_free);
        let label = *free.or_else(|| candidates.iter().find(is_inside)).unwrap_or(&candidates[0]);
        placements.push(Placement { label, is_free: free.is_some() });
        taken.push(label);
    }
    placements
}

/// `label` at the end of a bar, moved up (or down, if `is_below`) until it covers none of `dots`.
/// All positions are in pixels.
#[must_use]
pub fn clear_of_dots(label: LabelBox, dots: &[(f64, f64)], is_below: bool) -> LabelBox {
    let mut label = label;
    // Each step passes at least one dot, so there are at most as many steps as dots.
    for _ in dots {
        let Some(dot) = dots.iter().map(around).find(|dot| dot.touches(&label)) else { break };
        let step = if is_below { dot.bottom - label.top } else { dot.top - label.bottom };
        // Half a pixel more, because boxes that share an edge touch.
        let step = step + 0.5 * step.signum();
        label.top += step;
        label.bottom += step;
    }
    label
}

/// Half the side of the square around a dot that labels keep clear of, in pixels.
const CLEARANCE: f64 = 4.0;

/// The square around a dot that labels keep clear of.
fn around(&(x, y): &(f64, f64)) -> LabelBox {
    LabelBox {
        left: x - CLEARANCE,
        top: y - CLEARANCE,
        right: x + CLEARANCE,
        bottom: y + CLEARANCE,
    }
}

/// Positions for a label of this size next to a point, the preferred one first.
fn candidates((x, y): (f64, f64), (width, height): (f64, f64)) -> [LabelBox; 6] {
    // From the point to the upper left corner of the label, in pixels.
    let offsets = [
        (7.0, 0.5 - height / 2.0),
        (-7.0 - width, 0.5 - height / 2.0),
        (-width / 2.0, -6.0 - height),
        (-width / 2.0, 7.0),
        (6.0, -4.0 - height),
        (6.0, 5.0),
    ];
    offsets.map(|(dx, dy)| {
        let (left, top) = (x + dx, y + dy);
        LabelBox { left, top, right: left + width, bottom: top + height }
    })
}

impl LabelBox {
    fn touches(&self, other: &Self) -> bool {
        self.left <= other.right
            && other.left <= self.right
            && self.top <= other.bottom
            && other.top <= self.bottom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_bar_moves_away_from_dots() {
        let label = LabelBox { left: 0.0, top: 90.0, right: 40.0, bottom: 100.0 };
        assert_eq!(clear_of_dots(label, &[(20.0, 50.0), (80.0, 95.0)], false), label);
        let moved = clear_of_dots(label, &[(20.0, 95.0), (10.0, 85.0)], false);
        assert_eq!((moved.bottom, moved.top), (80.5, 70.5), "above both dots");
        assert!(clear_of_dots(label, &[(20.0, 95.0)], true).top > 99.0);
    }

    #[test]
    fn a_label_goes_to_the_first_free_side() {
        let size = (40.0, 10.0);
        let place = |dots: &[(f64, f64)], edges| {
            place_labels(&[PointLabel { point: (100.0, 100.0), size }], dots, edges)[0]
        };
        let at = (100.0, 100.0);
        let right = place(&[at], (0.0, 200.0));
        assert!(right.is_free && right.label.left == 107.0);
        let left = place(&[at, (120.0, 100.0)], (0.0, 200.0));
        assert!(left.is_free && left.label.right == 93.0);
        assert_eq!(place(&[at], (0.0, 130.0)), left, "the panel ends at 130");
        let nowhere = place(&[at], (90.0, 110.0));
        assert!(!nowhere.is_free);
    }
}
