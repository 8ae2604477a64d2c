//! A position that can be played like a video: play, pause, step and seek.

use std::ops::Range;
use std::time::Duration;

/// A position between zero and an end. The end can change, so methods take the end as an argument.
///
/// The unit of the position is a step or a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Player {
    position: f64,
    /// Units of the position per second.
    rate: f64,
    playing: bool,
    /// Time of the last frame in seconds; `None` while paused, and before the first frame of
    /// playing.
    last_frame: Option<f64>,
}

impl Player {
    /// A paused player at position zero, which plays `rate` units per second.
    #[must_use]
    pub fn new(rate: f64) -> Self {
        Self { position: 0.0, rate, playing: false, last_frame: None }
    }

    /// The position.
    #[must_use]
    pub fn position(&self) -> f64 {
        self.position
    }

    /// The number of whole steps completed: the position rounded down.
    #[must_use]
    pub fn step(&self) -> usize {
        self.position as usize
    }

    /// Whether the position advances by itself.
    #[must_use]
    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// Units of the position per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Changes the [rate](Self::rate).
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Moves to `position`, clamped to the range from zero to `end`.
    pub fn seek(&mut self, position: f64, end: f64) {
        self.position = position.clamp(0.0, end);
    }

    /// Stops playing and moves to `position`, clamped to the range from zero to `end`.
    pub fn pause_at(&mut self, position: f64, end: f64) {
        self.set_playing(false, end);
        self.seek(position, end);
    }

    /// Plays or pauses. If the position is at `end`, playing starts again at zero.
    pub fn set_playing(&mut self, playing: bool, end: f64) {
        if playing && self.position >= end {
            self.position = 0.0;
        }
        (self.playing, self.last_frame) = (playing, None);
    }

    /// Advances the position to the time of a new frame, if playing. `now` is the time of the frame
    /// in seconds. At `end`, playing stops.
    pub fn advance(&mut self, now: f64, end: f64) {
        self.advance_in_gap(now, end, None);
    }

    /// As [`advance`](Self::advance). `gap` is a range of positions and a number of seconds. If the
    /// position is in this range, playing the whole range takes at most this many seconds.
    pub fn advance_in_gap(&mut self, now: f64, end: f64, gap: Option<(Range<f64>, f64)>) {
        if !self.playing {
            return;
        }
        let elapsed = self.last_frame.replace(now).map_or(0.0, |last| (now - last).max(0.0));
        let normal = self.position + elapsed * self.rate;
        let target = gap.filter(|(gap, _)| gap.contains(&self.position)).map(|(gap, seconds)| {
            let rate = ((gap.end - gap.start) / seconds).max(self.rate);
            (self.position + elapsed * rate).min(gap.end.max(normal))
        });
        self.seek(target.unwrap_or(normal), end);
        if self.position >= end {
            (self.playing, self.last_frame) = (false, None);
        }
    }

    /// Time from the last frame until the next step is completed; `None` unless playing.
    #[must_use]
    pub fn time_to_next_step(&self) -> Option<Duration> {
        let remaining = self.position.floor() + 1.0 - self.position;
        self.playing.then(|| Duration::from_secs_f64(remaining / self.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_player_plays_at_its_rate_and_stops_at_the_end() {
        let mut player = Player::new(4.0);
        player.set_playing(true, 3.0);
        player.advance(10.0, 3.0);
        assert_eq!(player.step(), 0, "the first frame only starts the clock");
        assert_eq!(player.time_to_next_step(), Some(Duration::from_millis(250)));
        player.advance(10.25, 3.0);
        assert_eq!(player.step(), 1);
        player.advance(10.375, 3.0);
        assert_eq!((player.step(), player.position()), (1, 1.5));
        player.advance(20.0, 3.0);
        assert_eq!((player.step(), player.is_playing()), (3, false));
        assert_eq!(player.time_to_next_step(), None);
    }

    #[test]
    fn a_gap_is_passed_in_the_given_time() {
        let mut player = Player::new(1.0);
        let gap = || Some((10.0..110.0, 0.5));
        player.seek(10.0, 200.0);
        player.set_playing(true, 200.0);
        player.advance_in_gap(0.0, 200.0, gap());
        player.advance_in_gap(0.25, 200.0, gap());
        assert_eq!(player.position(), 60.0);
        player.advance_in_gap(1.0, 200.0, gap());
        assert_eq!(player.position(), 110.0, "the rest of the frame is not played");
        player.advance_in_gap(2.0, 200.0, gap());
        assert_eq!(player.position(), 111.0, "after the gap it plays at its rate");
    }

    #[test]
    fn playing_at_the_end_starts_again() {
        let mut player = Player::new(1.0);
        player.pause_at(9.0, 5.0);
        assert_eq!(player.position(), 5.0);
        player.set_playing(true, 5.0);
        assert_eq!((player.position(), player.is_playing()), (0.0, true));
    }

    #[test]
    fn the_position_does_not_advance_while_paused() {
        let mut player = Player::new(1.0);
        player.set_playing(true, 100.0);
        player.advance(1.0, 100.0);
        player.advance(2.0, 100.0);
        player.set_playing(false, 100.0);
        player.advance(50.0, 100.0);
        player.set_playing(true, 100.0);
        player.advance(60.0, 100.0);
        player.advance(61.0, 100.0);
        assert_eq!(player.step(), 2);
    }

    #[test]
    fn seeking_stays_within_the_range() {
        let mut player = Player::new(1.0);
        player.seek(-1.0, 5.0);
        assert_eq!(player.position(), 0.0);
        player.seek(f64::INFINITY, 5.0);
        assert_eq!(player.position(), 5.0);
    }
}
