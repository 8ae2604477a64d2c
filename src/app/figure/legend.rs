//! Which colour a series has, and what says so.

use eframe::egui::{self, Color32, Sense, Stroke, Ui};

use crate::experiment::{Origin, Panel, Shape};

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

/// The same for a light ground.
const ON_LIGHT: [Color32; 7] = [
    Color32::from_rgb(0x1f, 0x77, 0xb4),
    Color32::from_rgb(0xd0, 0x6a, 0x0c),
    Color32::from_rgb(0x14, 0x8a, 0x68),
    Color32::from_rgb(0xa0, 0x4a, 0x86),
    Color32::from_rgb(0x94, 0x7a, 0x00),
    Color32::from_rgb(0xb8, 0x2e, 0x10),
    Color32::from_rgb(0x5c, 0x66, 0x70),
];

/// Size of a sample of colour.
const SAMPLE: egui::Vec2 = egui::vec2(16.0, 11.0);

/// The series of some panels, each with a colour: one label has one colour everywhere.
pub struct Legend {
    entries: Vec<Entry>,
}

struct Entry {
    label: String,
    origin: Origin,
    bars: bool,
    colour: Color32,
}

impl Legend {
    /// The legend of `panels` on the ground of `ui`.
    #[must_use]
    pub fn of(ui: &Ui, panels: &[Panel]) -> Self {
        let colours = if ui.visuals().dark_mode { ON_DARK } else { ON_LIGHT };
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
                    bars: matches!(series.shape, Shape::Bars { .. }),
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
    if entry.bars {
        painter.rect_filled(rect, 2, bar_fill(entry.colour, entry.origin));
        painter.rect_stroke(rect, 2, (1.0, entry.colour), egui::StrokeKind::Inside);
        return;
    }
    let (left, right) = (rect.left_center(), rect.right_center());
    let stroke = Stroke::new(1.5, entry.colour);
    match entry.origin {
        Origin::Predicted => {
            painter.extend(egui::Shape::dashed_line(&[left, right], stroke, 4.0, 3.0));
        }
        Origin::Paper => {
            painter.extend(egui::Shape::dotted_line(&[left, right], entry.colour, 4.0, 1.2));
        }
        Origin::Recorded => {
            let (centre, radius) = (rect.center(), 4.0);
            let corners = [(0.0, -radius), (radius, 0.0), (0.0, radius), (-radius, 0.0)];
            let corners = corners.map(|(x, y)| centre + egui::vec2(x, y)).to_vec();
            painter.add(egui::Shape::convex_polygon(corners, entry.colour, Stroke::NONE));
        }
        Origin::Exact | Origin::Live => {
            painter.circle_filled(rect.center(), 3.5, entry.colour);
        }
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
