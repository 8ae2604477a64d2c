//! Lines in the shape of an arch, which pass around boxes.

use eframe::egui::{Pos2, Rect};

/// Number of straight segments of an arch. With half as many, the corners of a high arch are
/// visible.
const SEGMENTS: usize = 16;

/// Distance, in picture coordinates, that a clear arch keeps from every box except the two that it
/// connects. In a picture that is shrunk, a line that is closer seems to touch the box.
const CLEARANCE: f32 = 3.0;

/// Maximum number of boxes around which lines bend. There are hundreds of bends to try, and with
/// more boxes this would take longer than the layout.
const MAX_BOXES: usize = 60;

/// A line from `from` to `to` in the shape of an arch, as a polyline. It is `rise` times as high as
/// long.
#[must_use]
pub fn arch(from: Pos2, to: Pos2, rise: f32) -> Vec<Pos2> {
    bend(from, to, [rise; 2])
}

/// As [`arch`], but with one rise near `from` and another near `to`. With rises of different signs,
/// the line is an S.
fn bend(from: Pos2, to: Pos2, [first, last]: [f32; 2]) -> Vec<Pos2> {
    let across = (to - from).rot90();
    let point = |index: usize| {
        let t = index as f32 / SEGMENTS as f32;
        let rise = (1.0 - t) * first + t * last;
        from + (to - from) * t + across * (4.0 * t * (1.0 - t) * rise)
    };
    (0..=SEGMENTS).map(point).collect()
}

/// The bends that are tried if no arch is clear, the flattest first.
fn bends() -> impl Iterator<Item = [f32; 2]> {
    const RISES: [f32; 17] = [
        0.0, 0.08, -0.08, 0.15, -0.15, 0.25, -0.25, 0.35, -0.35, 0.48, -0.48, 0.6, -0.6, 0.9, -0.9,
        1.3, -1.3,
    ];
    (1..RISES.len()).flat_map(|highest| {
        let both =
            move |other: usize| [[RISES[highest], RISES[other]], [RISES[other], RISES[highest]]];
        (0..highest).flat_map(both)
    })
}

/// An arch between the centres of two of `boxes`, whose indices are `ends`, around the other boxes
/// if possible: a line that passes behind a box looks like two lines that end there. Has the first
/// of `rises` with which it meets no other box and stays within the picture. If there is none, it
/// is a bend that does so (unless there are many boxes), or else the first arch or bend that meets
/// no other box, or else the arch with the first rise.
///
/// # Panics
/// If `rises` is empty.
#[must_use]
pub fn clear_arch(boxes: &[Rect], ends: [usize; 2], rises: &[f32]) -> Vec<Pos2> {
    let picture = boxes.iter().copied().reduce(Rect::union).unwrap_or(Rect::NOTHING);
    let [from, to] = ends.map(|end| boxes[end].center());
    let is_clear = |path: &Vec<Pos2>| {
        let bounds = Rect::from_points(path).expand(CLEARANCE);
        let near =
            |(index, other): &(usize, &Rect)| !ends.contains(index) && bounds.intersects(**other);
        boxes
            .iter()
            .enumerate()
            .filter(near)
            .map(|(_, other)| other.expand(CLEARANCE))
            .all(|other| path.windows(2).all(|ends| !meets(other, ends[0], ends[1])))
    };
    let is_inside = |path: &Vec<Pos2>| path.iter().all(|point| picture.contains(*point));
    let mut clear = None;
    let bends = bends().take_while(|_| boxes.len() <= MAX_BOXES);
    let all = rises.iter().map(|&rise| [rise; 2]).chain(bends);
    for path in all.map(|rises| bend(from, to, rises)).filter(is_clear) {
        if is_inside(&path) {
            return path;
        }
        clear.get_or_insert(path);
    }
    clear.unwrap_or_else(|| arch(from, to, rises[0]))
}

/// Whether the straight line between two points meets `rect`.
#[must_use]
pub fn meets(rect: Rect, from: Pos2, to: Pos2) -> bool {
    // The part of the line, from 0 to 1, that is between the sides of the rectangle.
    let (mut low, mut high) = (0.0_f32, 1.0_f32);
    for axis in [0, 1] {
        let (start, along) = (from[axis], to[axis] - from[axis]);
        let sides = [rect.min[axis], rect.max[axis]];
        if along == 0.0 {
            if start < sides[0] || start > sides[1] {
                return false;
            }
            continue;
        }
        let [one, other] = sides.map(|side| (side - start) / along);
        low = low.max(one.min(other));
        high = high.min(one.max(other));
    }
    low <= high
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{pos2, vec2};

    /// Heights of arches that are tried one after the other.
    const RISES: [f32; 6] = [0.22, 0.12, -0.22, -0.12, 0.35, -0.35];

    fn at(x: f32, y: f32) -> Rect {
        Rect::from_center_size(pos2(x, y), vec2(80.0, 38.0))
    }

    #[test]
    fn an_arch_is_highest_in_its_middle() {
        let line = arch(pos2(0.0, 0.0), pos2(100.0, 0.0), 0.1);
        assert_eq!((line[0], line[16]), (pos2(0.0, 0.0), pos2(100.0, 0.0)));
        assert!((line[8] - pos2(50.0, -10.0)).length() < 1e-3, "{line:?}");
    }

    #[test]
    fn an_arch_passes_around_the_boxes_between_its_ends() {
        let clear = |boxes: &[Rect]| {
            let path = clear_arch(boxes, [0, 1], &RISES);
            assert_eq!((path[0], path[16]), (boxes[0].center(), boxes[1].center()));
            path.windows(2)
                .all(|ends| boxes[2..].iter().all(|&other| !meets(other, ends[0], ends[1])))
        };
        let (from, to) = (at(0.0, 0.0), at(300.0, 0.0));
        assert!(clear(&[from, to]));
        // Arches of different heights meet boxes at different places.
        for y in [-70.0, -40.0, 0.0, 40.0, 70.0] {
            assert!(clear(&[from, to, at(150.0, y)]), "{y}");
        }
        let around: Vec<Rect> = (-10..=10).map(|row| at(150.0, 40.0 * row as f32)).collect();
        assert!(!clear(&[[from, to].as_slice(), &around].concat()), "there is no way around");
    }

    #[test]
    fn an_arch_stays_in_the_picture_if_it_can() {
        let (from, to, below) = (at(0.0, 0.0), at(600.0, 0.0), at(300.0, 300.0));
        let is_inside = |boxes: &[Rect]| {
            let picture = boxes.iter().copied().reduce(Rect::union).unwrap();
            let path = clear_arch(boxes, [0, 1], &RISES);
            path.iter().all(|point| picture.contains(*point))
        };
        assert!(is_inside(&[from, to, below]));
        assert!(is_inside(&[to, from, below]));
        assert!(!is_inside(&[from, to, at(300.0, 0.0)]), "around the box instead");
    }

    #[test]
    fn a_line_meets_a_rectangle_that_it_touches() {
        let rect = Rect::from_min_max(pos2(0.0, 0.0), pos2(10.0, 10.0));
        assert!(meets(rect, pos2(-5.0, 5.0), pos2(15.0, 5.0)));
        assert!(meets(rect, pos2(-5.0, 5.0), pos2(5.0, 15.0)), "the corner");
        assert!(!meets(rect, pos2(-6.0, 5.0), pos2(5.0, 16.0)), "past the corner");
        assert!(!meets(rect, pos2(-5.0, 5.0), pos2(-1.0, 5.0)), "ends before it");
        assert!(meets(rect, pos2(4.0, 4.0), pos2(4.0, 4.0)), "inside");
        assert!(!meets(rect, pos2(11.0, -5.0), pos2(11.0, 15.0)));
    }
}
