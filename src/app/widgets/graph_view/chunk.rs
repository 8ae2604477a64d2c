//! The triangles of neighbouring items, kept until one of the items changes.

use std::sync::Arc;

use eframe::egui::emath::GuiRounding as _;
use eframe::egui::epaint::{Mesh, RectShape, Tessellator};
use eframe::egui::{CornerRadius, Painter, Pos2, Rect, Shape, Ui, Vec2};
use egui_graphs::DrawContext;

/// Number of items of a chunk. With more, a change of one item costs more; with fewer, there are
/// more chunks to copy in every frame.
pub const CHUNK_SIZE: usize = 32;

/// How a picture is mapped to the screen while its shapes are made.
pub struct View<'a> {
    /// For laying out text.
    pub painter: &'a Painter,
    /// Screen points per unit of the picture.
    pub zoom: f32,
    /// Where the origin of the picture is on the screen, in points. The canvas rounds it to whole
    /// pixels.
    pub origin: Vec2,
    /// The part of the screen in which items must be drawn. Other items may be left out.
    pub needed: Rect,
}

impl<'a> View<'a> {
    /// The view that `context` of egui_graphs describes.
    pub fn of(context: &DrawContext<'a>) -> Self {
        let (painter, meta) = (context.painter, context.meta);
        Self { painter, zoom: meta.zoom, origin: meta.pan, needed: painter.clip_rect() }
    }

    /// Where `point` of the picture appears on the screen.
    pub fn to_screen(&self, point: Pos2) -> Pos2 {
        (point.to_vec2() * self.zoom + self.origin).to_pos2()
    }
}

/// Turns shapes into triangles.
pub struct ShapeTessellator {
    tessellator: Tessellator,
    pixels_per_point: f32,
}

impl ShapeTessellator {
    /// A tessellator with the options of `ui`. It also makes triangles for shapes out of view, and
    /// uses no texture.
    pub fn new(ui: &Ui) -> Self {
        let mut options = ui.ctx().tessellation_options(|options| *options);
        options.coarse_tessellation_culling = false;
        options.prerasterized_discs = false;
        let pixels_per_point = ui.pixels_per_point();
        let tessellator = Tessellator::new(pixels_per_point, options, [1, 1], Vec::new());
        Self { tessellator, pixels_per_point }
    }

    /// Adds the triangles of `shape`.
    fn add(&mut self, shape: Shape, mesh: &mut Mesh) {
        match shape {
            // A plain rectangle, such as a small box of a large graph. Rounding puts its edges
            // between pixels, so it needs no soft edges, which take twice as many vertices. A
            // rectangle thinner than `MIN_SHARP_PIXELS` keeps them: rounded, it could vanish.
            Shape::Rect(plain)
                if is_plain(&plain)
                    && plain.rect.size().min_elem() * self.pixels_per_point > MIN_SHARP_PIXELS =>
            {
                let rect = plain.rect.round_to_pixels(self.pixels_per_point);
                mesh.add_colored_rect(rect, plain.fill);
            }
            shape => self.tessellator.tessellate_shape(shape, mesh),
        }
    }
}

/// A rectangle of at most this many pixels in either direction is drawn with soft edges. With less
/// than 1, thin bars could vanish.
const MIN_SHARP_PIXELS: f32 = 2.0;

/// Whether a rectangle has neither round corners nor an outline.
fn is_plain(rect: &RectShape) -> bool {
    *rect == RectShape::filled(rect.rect, CornerRadius::ZERO, rect.fill)
}

/// The triangles and the text of up to [`CHUNK_SIZE`] items, or of all edges that are drawn above
/// the others.
pub struct Chunk {
    mesh: Arc<Mesh>,
    /// Text and labels. Those of all edges are drawn after the triangles of all edges, and those of
    /// all nodes after the triangles of all nodes. The toolkit may rearrange its texture of glyphs
    /// in any frame, so text is not turned into triangles here. A label of an edge is a
    /// [`Shape::Vec`]: a box and the text in it.
    texts: Vec<Shape>,
    /// Where the origin of the picture was on the screen in the last call of `make` or `move_to`.
    origin: Vec2,
    /// Whether the chunk must be made again.
    pub is_stale: bool,
    /// Whether the chunk has all its items, including those that are out of view.
    pub is_complete: bool,
}

impl Default for Chunk {
    fn default() -> Self {
        Self {
            mesh: Arc::default(),
            texts: Vec::new(),
            origin: Vec2::ZERO,
            is_stale: true,
            is_complete: false,
        }
    }
}

impl Chunk {
    /// Makes the chunk again. `add` adds the shapes of its items, and returns whether it added all
    /// of them: items out of view may be left out.
    pub fn make(
        &mut self,
        view: &View<'_>,
        tessellator: &mut ShapeTessellator,
        add: impl FnOnce(&mut Vec<Shape>) -> bool,
    ) {
        let mut shapes = Vec::new();
        self.is_complete = add(&mut shapes);
        let is_text = |shape: &Shape| matches!(shape, Shape::Text(_) | Shape::Vec(_));
        let (texts, areas): (Vec<Shape>, Vec<Shape>) = shapes.into_iter().partition(is_text);
        let mut mesh = Mesh::default();
        // The chunk will have about as many triangles as before.
        mesh.vertices.reserve(self.mesh.vertices.len());
        mesh.indices.reserve(self.mesh.indices.len());
        for shape in areas {
            tessellator.add(shape, &mut mesh);
        }
        (self.mesh, self.texts) = (Arc::new(mesh), texts);
        (self.origin, self.is_stale) = (view.origin, false);
    }

    /// Moves the triangles and texts with the picture, whose origin is now at `origin` on screen.
    pub fn move_to(&mut self, origin: Vec2) {
        let delta = origin - self.origin;
        if delta == Vec2::ZERO {
            return;
        }
        self.origin = origin;
        if !self.mesh.is_empty() {
            Arc::make_mut(&mut self.mesh).translate(delta);
        }
        self.texts.iter_mut().for_each(|text| text.translate(delta));
    }

    /// Paints everything except text and labels.
    pub fn paint_areas(&self, painter: &Painter) {
        if !self.mesh.is_empty() {
            painter.add(Shape::Mesh(Arc::clone(&self.mesh)));
        }
    }

    /// Paints text and labels.
    pub fn paint_texts(&self, painter: &Painter) {
        painter.extend(self.texts.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Color32, Stroke, StrokeKind, pos2, vec2};
    use egui_kittest::Harness;

    use super::*;

    #[test]
    fn a_plain_box_is_two_triangles_with_its_corners_between_pixels() {
        let _harness = Harness::new_ui(|ui| {
            let mut tessellator = ShapeTessellator::new(ui);
            let rect = Rect::from_min_size(pos2(10.3, 20.6), vec2(5.0, 3.0));
            let mut mesh = Mesh::default();
            tessellator.add(Shape::rect_filled(rect, CornerRadius::ZERO, Color32::RED), &mut mesh);
            assert_eq!((mesh.vertices.len(), mesh.indices.len()), (4, 6));
            let whole = |pos: Pos2| pos == pos.round();
            assert!(mesh.vertices.iter().all(|vertex| whole(vertex.pos)), "{mesh:?}");
            let stroke = Stroke::new(1.0, Color32::RED);
            let outlined = Shape::rect_stroke(rect, CornerRadius::ZERO, stroke, StrokeKind::Middle);
            tessellator.add(outlined, &mut mesh);
            assert!(mesh.vertices.len() > 8, "an outline has soft edges");
        });
    }
}
