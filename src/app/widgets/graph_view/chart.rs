//! Bar charts in nodes: a row for each state of a variable.

use eframe::egui::{FontId, Painter, Pos2, Rect, Shape, pos2, vec2};

use crate::app::widgets::graph_view::canvas::GraphCanvas;
use crate::app::widgets::graph_view::nodes_of;
use crate::app::widgets::graph_view::text::font_size;
use crate::app::widgets::state_bar::{BarColours, RowLayout, StateBar};

/// Minimum height in points of a row with text. At the minimum text size, digits are less tall than
/// this.
const MIN_TEXT_ROW_HEIGHT: f32 = 9.0;

/// Minimum width in points of a bar next to the name and the number of its state. With less room,
/// the bar fills the row instead.
const MIN_BAR_BESIDE_TEXT: f32 = 12.0;

/// Minimum height in points of a row that can be clicked. Rows that are less tall are hard to hit.
const MIN_CLICKABLE_HEIGHT: f32 = 7.0;

/// Height of the part of a node above its chart, in picture coordinates.
pub const CHART_TOP: f32 = 21.0;
/// Distance of the chart from the left and right edges of its node, in picture coordinates.
pub const CHART_MARGIN: f32 = 6.0;
/// Distance of the chart from the lower edge of its node, in picture coordinates.
pub const CHART_BOTTOM: f32 = 5.0;
/// Width of the numbers in picture coordinates: room for `>99.9%`.
pub const NUMBER_WIDTH: f32 = 36.0;
/// Text size of a row in picture coordinates; text is smaller in rows with too little height.
const TEXT_SIZE: f32 = 10.0;

/// A bar chart in a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The rows, from top to bottom.
    pub bars: Vec<StateBar>,
    /// The colours of the rows.
    pub colours: BarColours,
    /// Width of the part of a row with the mark of a finding and the name of the state, in picture
    /// coordinates.
    pub label_width: f32,
}

impl Chart {
    /// Whether the rows in a node that is `height` high in the picture are high enough, at this
    /// `zoom`, to be clicked.
    pub(super) fn has_high_rows(&self, height: f32, zoom: f32) -> bool {
        let rows = (height - CHART_TOP - CHART_BOTTOM) * zoom;
        rows >= MIN_CLICKABLE_HEIGHT * self.bars.len() as f32
    }

    /// Where the rows are in a node that fills `node` on the screen, at this `zoom`.
    pub(super) fn rows(&self, node: Rect, zoom: f32) -> impl Iterator<Item = RowLayout> {
        let room = Rect::from_min_max(
            node.min + vec2(CHART_MARGIN, CHART_TOP) * zoom,
            node.max - vec2(CHART_MARGIN, CHART_BOTTOM) * zoom,
        );
        let height = room.height() / self.bars.len().max(1) as f32;
        let size = (TEXT_SIZE * zoom).min(height * 0.85);
        let font = (height >= MIN_TEXT_ROW_HEIGHT).then(|| FontId::proportional(font_size(size)));
        // Text has a minimum size, so it may need more room than the zoom gives it.
        let text_zoom = font.as_ref().map_or(zoom, |font| zoom.max(font.size / TEXT_SIZE));
        let (label_width, number_width) = (self.label_width * text_zoom, NUMBER_WIDTH * text_zoom);
        let beside = room.width() - label_width - number_width;
        let font = font.filter(|_| beside >= MIN_BAR_BESIDE_TEXT);
        (0..self.bars.len()).map(move |index| {
            let top = room.top() + height * index as f32;
            let row = Rect::from_min_size(pos2(room.left(), top), vec2(room.width(), height));
            RowLayout::in_picture(row, font.clone(), label_width, number_width)
        })
    }

    /// Adds the shapes of all rows.
    pub(super) fn paint(&self, painter: &Painter, node: Rect, zoom: f32, shapes: &mut Vec<Shape>) {
        for (bar, row) in self.bars.iter().zip(self.rows(node, zoom)) {
            bar.paint(painter, &row, &self.colours, shapes);
        }
    }
}

/// A row of a chart that can be clicked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartRow {
    /// The index of the node.
    pub node: usize,
    /// The index of the row in the chart.
    pub index: usize,
    /// The part of the row that is in view, on the screen.
    pub rect: Rect,
    /// The whole node, on the screen.
    pub node_rect: Rect,
}

impl<K: PartialEq> GraphCanvas<K> {
    /// The rows of all charts that are at least partly in view and large enough to be clicked, as
    /// of the last call of [`draw`](Self::draw).
    #[must_use]
    pub fn chart_rows(&self) -> Vec<ChartRow> {
        let zoom = self.camera.zoom();
        let mut rows = Vec::new();
        for (index, node) in nodes_of(&self.graph).enumerate() {
            let Some(chart) = node.style.chart.as_ref().filter(|_| node.shows_chart(zoom)) else {
                continue;
            };
            let to_pane = |corner: Pos2| self.camera.to_pane(self.rect, corner);
            let placed = node.rect();
            let node_rect = Rect::from_min_max(to_pane(placed.min), to_pane(placed.max));
            if !node_rect.intersects(self.rect) {
                continue;
            }
            for (row, layout) in chart.rows(node_rect, zoom).enumerate() {
                let rect = layout.row.intersect(self.rect);
                if layout.row.height() >= MIN_CLICKABLE_HEIGHT && rect.is_positive() {
                    rows.push(ChartRow { node: index, index: row, rect, node_rect });
                }
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::Color32;
    use egui_kittest::Harness;

    use super::*;

    #[test]
    fn numbers_do_not_lie_over_the_bars_whether_the_picture_is_small_or_large() {
        let chart = Chart {
            bars: vec![StateBar { probability: Some(1.0), ..StateBar::default() }; 2],
            colours: BarColours {
                ink: Color32::WHITE,
                track: Color32::BLACK,
                posterior: Color32::GREEN,
                evidence: Color32::RED,
                prior: Color32::WHITE,
            },
            label_width: 30.0,
        };
        let mut harness = Harness::new_ui(move |ui| {
            for zoom in [0.8, 1.0, 1.7] {
                let node = Rect::from_min_size(Pos2::ZERO, vec2(130.0, 50.0) * zoom);
                let mut shapes = Vec::new();
                chart.paint(ui.painter(), node, zoom, &mut shapes);
                let bars = shapes.iter().filter_map(|shape| match shape {
                    Shape::Rect(bar) => Some(bar.rect.right()),
                    _ => None,
                });
                let bars = bars.fold(0.0, f32::max);
                let numbers: Vec<f32> = shapes
                    .iter()
                    .filter_map(|shape| match shape {
                        Shape::Text(text) if text.galley.text() == "100.0%" => Some(text.pos.x),
                        _ => None,
                    })
                    .collect();
                assert_eq!(numbers.len(), 2, "zoom {zoom}");
                assert!(numbers.iter().all(|&left| left >= bars), "{zoom}: {numbers:?} {bars}");
            }
        });
        harness.run();
    }
}
