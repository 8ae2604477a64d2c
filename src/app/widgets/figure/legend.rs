//! Which colour a series has, and what says so.

use eframe::egui::{self, Color32, Sense, Stroke, Ui};
use egui_plot::{LineStyle, MarkerShape};

use crate::experiment::{COLOURS, Origin, Panel, Shape};

/// Told apart by people of every kind of sight, after the set of Okabe and Ito (2008).
const ON_DARK: [Color32; 7] = [
    Color32::from_rgb(0x56, 0xa8, 0xe8),
    Color32::from_rgb(0xf0, 0x96, 0x3c),
    Color32::from_rgb(0x2f, 0xb0, 0x88),
    Color32::from_rgb(0xd5, 0x84, 0xb8),
    Color32::from_rgb(0xf0, 0xdc, 0x50),
    Color32::from_rgb(0xe8, 0x5d, 0x3a),
    Color32::from_rgb(0x9a, 0xa4, 0xae),
];

/// The same for a light ground, as in files.
fn on_light() -> [Color32; 7] {
    COLOURS.map(|[red, green, blue]| Color32::from_rgb(red, green, blue))
}

/// Size of a sample of colour.
const SAMPLE: egui::Vec2 = egui::vec2(16.0, 11.0);

/// The series of some panels, each with a colour: one label has one colour everywhere.
pub struct Legend {
    entries: Vec<Entry>,
}

struct Entry {
    label: String,
    origin: Origin,
    shape: Shape,
    colour: Color32,
}

impl Legend {
    /// The legend of `panels` on the ground of `ui`.
    #[must_use]
    pub fn of(ui: &Ui, panels: &[Panel]) -> Self {
        let colours = if ui.visuals().dark_mode { ON_DARK } else { on_light() };
        let mut labels: Vec<&str> = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for series in panels.iter().flat_map(|panel| &panel.series) {
            let place = labels.iter().position(|label| *label == series.label);
            let place = place.unwrap_or_else(|| {
                labels.push(&series.label);
                labels.len() - 1
            });
            let known =
                |entry: &Entry| entry.label == series.label && entry.origin == series.origin;
            if !entries.iter().any(known) {
                entries.push(Entry {
                    label: series.label.clone(),
                    origin: series.origin,
                    shape: series.shape,
                    colour: colours[place % colours.len()],
                });
            }
        }
        Self { entries }
    }

    /// The colour of the series called `label`.
    #[must_use]
    pub fn colour(&self, label: &str) -> Color32 {
        let entry = self.entries.iter().find(|entry| entry.label == label);
        entry.map_or(Color32::GRAY, |entry| entry.colour)
    }

    /// Draws the legend in a line, or several where there is too little room.
    pub fn show(&self, ui: &mut Ui) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 5.0;
            for entry in &self.entries {
                // A sample stands before its whole name; what does not fit goes to the next line.
                let name = named(&entry.label, entry.origin);
                let text = egui::WidgetText::from(&name);
                let room = f32::INFINITY;
                let galley = text.into_galley(ui, None, room, egui::TextStyle::Body);
                let width = SAMPLE.x + galley.size().x + 2.0 * ui.spacing().item_spacing.x;
                if width > ui.available_size_before_wrap().x {
                    ui.end_row();
                }
                sample(ui, entry);
                ui.label(name);
                ui.add_space(8.0);
            }
        });
    }
}

/// `gpu (recorded)`: where numbers come from is said with every series that is not merely counted.
pub(super) fn named(label: &str, origin: Origin) -> String {
    match origin {
        Origin::Exact => label.to_owned(),
        origin => format!("{label} ({})", origin.name()),
    }
}

fn sample(ui: &mut Ui, entry: &Entry) {
    let (rect, _) = ui.allocate_exact_size(SAMPLE, Sense::hover());
    let painter = ui.painter();
    let (colour, stroke) = (entry.colour, Stroke::new(1.5, entry.colour));
    if let Shape::Bars { .. } = entry.shape {
        painter.rect_filled(rect, 2, bar_fill(colour, entry.origin));
        painter.rect_stroke(rect, 2, (1.0, colour), egui::StrokeKind::Inside);
        return;
    }
    if entry.shape == Shape::Line {
        let ends = [rect.left_center(), rect.right_center()];
        painter.extend(match style_of(entry.origin) {
            LineStyle::Solid => vec![egui::Shape::line_segment(ends, stroke)],
            LineStyle::Dashed { .. } => egui::Shape::dashed_line(&ends, stroke, 4.0, 3.0),
            LineStyle::Dotted { .. } => egui::Shape::dotted_line(&ends, colour, 4.0, 1.2),
        });
    }
    let (centre, radius) = (rect.center(), 3.5);
    let at = |(x, y): (f32, f32)| centre + radius * egui::vec2(x, y);
    match marker_of(entry.origin) {
        MarkerShape::Diamond => {
            let corners = [(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)].map(at).to_vec();
            painter.add(egui::Shape::convex_polygon(corners, colour, Stroke::NONE));
        }
        MarkerShape::Cross => {
            painter.line_segment([(-1.0, -1.0), (1.0, 1.0)].map(at), stroke);
            painter.line_segment([(-1.0, 1.0), (1.0, -1.0)].map(at), stroke);
        }
        MarkerShape::Square => {
            painter.rect_filled(egui::Rect::from_center_size(centre, [6.0; 2].into()), 0, colour);
        }
        _ => {
            painter.circle_filled(centre, radius, colour);
        }
    }
}

/// What a point is drawn as, which tells origins apart without colour.
pub(super) fn marker_of(origin: Origin) -> MarkerShape {
    match origin {
        Origin::Live | Origin::Exact => MarkerShape::Circle,
        Origin::Recorded => MarkerShape::Diamond,
        Origin::Predicted => MarkerShape::Cross,
        Origin::Paper => MarkerShape::Square,
    }
}

/// What is predicted or printed is told apart from what was measured without colour.
pub(super) fn style_of(origin: Origin) -> LineStyle {
    match origin {
        Origin::Predicted => LineStyle::Dashed { length: 7.0 },
        Origin::Paper => LineStyle::Dotted { spacing: 5.0 },
        Origin::Exact | Origin::Live | Origin::Recorded => LineStyle::Solid,
    }
}

/// What is only predicted is drawn paler.
pub(super) fn bar_fill(colour: Color32, origin: Origin) -> Color32 {
    match origin {
        Origin::Predicted => colour.gamma_multiply(0.3),
        Origin::Paper => colour.gamma_multiply(0.6),
        _ => colour,
    }
}
