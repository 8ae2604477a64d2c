//! Placing the labels of points and of reference lines, so that they cover neither dots nor each
//! other. Distances without a name are in pixels, and affect only the looks.

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
    /// Where a line between the point and the label ends. `None` if the label is so close to its
    /// point that it needs no line.
    pub leader: Option<(f64, f64)>,
}

/// Places each label next to its point: at the right, at the left, above, below, or at a corner,
/// whichever is free first. A label for which all these positions are taken goes farther away, with
/// a line to its point. `None` if there is no room there either.
///
/// A position is free if it is inside `area` and touches no dot and no other label. `dots` are all
/// dots of the panel. All positions are in pixels.
///
/// # Complexity
/// O(labels · (labels + dots)).
#[must_use]
pub fn place_labels(
    labels: &[PointLabel],
    dots: &[(f64, f64)],
    area: LabelBox,
) -> Vec<Option<Placement>> {
    let mut taken: Vec<LabelBox> = dots.iter().map(around).collect();
    let mut placements = vec![None; labels.len()];
    // Labels next to their points come first, so that no distant label takes their place.
    for is_distant in [false, true] {
        for (label, placement) in labels.iter().zip(&mut placements) {
            if placement.is_some() {
                continue;
            }
            let is_free = |b: &LabelBox| b.is_inside(area) && !taken.iter().any(|t| t.touches(b));
            let free = if is_distant {
                distant_candidates(label).find(is_free)
            } else {
                candidates(label).into_iter().find(is_free)
            };
            let Some(free) = free else { continue };
            let leader = is_distant.then(|| free.nearest(label.point));
            *placement = Some(Placement { label: free, leader });
            taken.push(free);
        }
    }
    placements
}

/// Places the label of a reference line from `from` to `to`: to the right of a vertical line, or to
/// its left if no place on the right is free; above any other line. The label takes the free place
/// closest to `to`. A place is free if it is inside `area` and touches no dot and none of `labels`.
/// If none is free, the label may cover something. All positions are in pixels.
#[must_use]
pub fn place_mark_label(
    (width, height): (f64, f64),
    [from, to]: [(f64, f64); 2],
    dots: &[(f64, f64)],
    labels: &[LabelBox],
    area: LabelBox,
) -> LabelBox {
    /// Number of equal steps along the line; a place at each end of a step is tried. With fewer,
    /// free places are missed.
    const PLACES: i32 = 24;
    let is_vertical = from.0 == to.0;
    // From the line to the upper left corner of the label.
    let offsets: &[(f64, f64)] = if is_vertical {
        &[(4.0, 2.0), (-4.0 - width, 2.0)]
    } else {
        &[(-4.0 - width, -1.0 - height)]
    };
    let places = offsets.iter().flat_map(|&(dx, dy)| {
        (0..=PLACES).map(move |place| {
            let t = f64::from(place) / f64::from(PLACES);
            let at = |from: f64, to: f64| to + t * (from - to);
            let (left, top) = (at(from.0, to.0) + dx, at(from.1, to.1) + dy);
            LabelBox { left, top, right: left + width, bottom: top + height }
        })
    });
    let inside: Vec<LabelBox> = places.clone().filter(|b| b.is_inside(area)).collect();
    let covers = |b: &LabelBox| {
        dots.iter().map(around).any(|dot| dot.touches(b))
            || labels.iter().any(|label| label.touches(b))
    };
    let free = inside.iter().find(|b| !covers(b));
    free.or(inside.first()).copied().unwrap_or_else(|| {
        let (x, y) = (to.0 + offsets[0].0, to.1 + offsets[0].1);
        let left = x.min(area.right - width).max(area.left);
        let top = y.min(area.bottom - height).max(area.top);
        LabelBox { left, top, right: left + width, bottom: top + height }
    })
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

/// Positions for a label next to its point, the preferred one first.
fn candidates(label: &PointLabel) -> [LabelBox; 8] {
    let (width, height) = label.size;
    // From the point to the upper left corner of the label, in pixels.
    let offsets = [
        (7.0, 0.5 - height / 2.0),
        (-7.0 - width, 0.5 - height / 2.0),
        (-width / 2.0, -6.0 - height),
        (-width / 2.0, 7.0),
        (6.0, -4.0 - height),
        (6.0, 5.0),
        (-6.0 - width, -4.0 - height),
        (-6.0 - width, 5.0),
    ];
    offsets.map(|offset| label.at(offset))
}

/// Positions for a label at some distance from its point, the nearest first.
fn distant_candidates(label: &PointLabel) -> impl Iterator<Item = LabelBox> {
    /// Number of distances, each a line of text farther than the one before. A label at a larger
    /// distance seems to belong to another point.
    const RINGS: i32 = 4;
    let (width, height) = label.size;
    let ring = move |ring: i32| {
        let (right, below) = (6.0 + 12.0 * f64::from(ring), (f64::from(ring) + 0.4) * height);
        let (left, above) = (-right - width, -below - height);
        [(right, below), (right, above), (left, above), (left, below)]
            .into_iter()
            .chain([(-width / 2.0, above), (-width / 2.0, below)])
    };
    (1..=RINGS).flat_map(ring).map(|offset| label.at(offset))
}

impl PointLabel {
    /// The rectangle of the text if its upper left corner has this offset from the point.
    fn at(&self, (dx, dy): (f64, f64)) -> LabelBox {
        let (left, top) = (self.point.0 + dx, self.point.1 + dy);
        LabelBox { left, top, right: left + self.size.0, bottom: top + self.size.1 }
    }
}

impl LabelBox {
    fn is_inside(&self, area: Self) -> bool {
        self.left >= area.left
            && self.right <= area.right
            && self.top >= area.top
            && self.bottom <= area.bottom
    }

    /// The point of the rectangle that is nearest to `(x, y)`.
    fn nearest(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }

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

    const SIZE: (f64, f64) = (40.0, 10.0);

    fn area(left: f64, right: f64) -> LabelBox {
        LabelBox { left, top: 0.0, right, bottom: 200.0 }
    }

    #[test]
    fn a_label_goes_to_the_first_free_side() {
        let place = |dots: &[(f64, f64)], area| {
            place_labels(&[PointLabel { point: (100.0, 100.0), size: SIZE }], dots, area)[0]
        };
        let at = (100.0, 100.0);
        let right = place(&[at], area(0.0, 200.0)).unwrap();
        assert!(right.leader.is_none() && right.label.left == 107.0);
        let left = place(&[at, (120.0, 100.0)], area(0.0, 200.0)).unwrap();
        assert!(left.leader.is_none() && left.label.right == 93.0);
        assert_eq!(place(&[at], area(0.0, 130.0)), Some(left), "the panel ends at 130");
        assert_eq!(place(&[at], area(90.0, 110.0)), None);
    }

    #[test]
    fn labels_of_crowded_points_have_lines_and_never_touch() {
        let points: Vec<(f64, f64)> = (0..9)
            .map(|i| (96.0 + f64::from(i % 3) * 5.0, 96.0 + f64::from(i / 3) * 5.0))
            .collect();
        let labels: Vec<PointLabel> =
            points.iter().map(|&point| PointLabel { point, size: SIZE }).collect();
        let placed = place_labels(&labels, &points, area(0.0, 200.0));
        let placed: Vec<Placement> = placed.into_iter().map(Option::unwrap).collect();
        assert!(placed.iter().any(|placement| placement.leader.is_some()));
        for (index, Placement { label, leader }) in placed.iter().enumerate() {
            assert!(label.is_inside(area(0.0, 200.0)));
            assert!(placed[..index].iter().all(|other| !other.label.touches(label)));
            assert!(points.iter().all(|dot| !around(dot).touches(label)));
            if let Some((x, y)) = leader {
                assert_eq!((*x, *y), label.nearest(points[index]));
            }
        }
    }

    #[test]
    fn the_label_of_a_line_slides_along_it_to_a_free_place() {
        let slope = [(0.0, 200.0), (200.0, 0.0)];
        let place = |dots: &[(f64, f64)], taken: &[LabelBox]| {
            place_mark_label(SIZE, slope, dots, taken, area(0.0, 200.0))
        };
        let first = place(&[], &[]);
        assert!(first.right > 170.0 && first.is_inside(area(0.0, 200.0)));
        let dot = (first.right - 5.0, first.top + 5.0);
        let second = place(&[dot], &[]);
        assert!(!around(&dot).touches(&second) && second.right < first.right);
        let third = place(&[dot], &[second]);
        assert!(!third.touches(&second) && !around(&dot).touches(&third));

        let vertical = |x: f64, taken: &[LabelBox]| {
            place_mark_label(SIZE, [(x, 200.0), (x, 0.0)], &[], taken, area(0.0, 200.0))
        };
        let at_100 = vertical(100.0, &[]);
        assert!(at_100.left > 100.0 && at_100.top < 5.0);
        let at_110 = vertical(110.0, &[at_100]);
        assert!(at_110.left > 110.0 && at_110.top > at_100.bottom, "below its neighbour");
        assert!(vertical(190.0, &[]).right < 190.0, "on the side with room");
    }
}
