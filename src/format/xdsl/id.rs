//! Names and labels as ids.
//!
//! If all names and labels of a network can be ids, they are. Otherwise, a comment at the beginning
//! of the file says that its ids are escaped: a character that an id cannot hold is written as
//! `u_HEX_`, where HEX is its code point. The empty name is `u__`. Without the comment, ids are
//! names, because an id of another program may look like an escape.

use std::fmt::Write as _;

use crate::network::{Network, Variable};

/// The comment at the beginning of a file whose ids are escaped.
pub(super) const COMMENT: &str = "<!-- Cliquescope: u_HEX_ in an id is a character -->";

/// How the ids of a file represent names.
#[derive(Clone, Copy)]
pub(super) struct Ids {
    /// Whether ids are escaped; otherwise they are the names.
    pub are_escaped: bool,
}

impl Ids {
    /// The ids of a file that begins with `prolog`, the text before its first element.
    pub fn of_file(prolog: &str) -> Self {
        Self { are_escaped: prolog.contains(COMMENT) }
    }

    /// The ids of a file in which `network` is written.
    pub fn of_network(network: &Network) -> Self {
        let is_plain = |variable: &Variable| {
            is_id(variable.name()) && variable.states().iter().all(|state| is_id(state))
        };
        let are_plain = is_id(network.name()) && network.variables().iter().all(is_plain);
        Self { are_escaped: !are_plain }
    }

    /// The id that represents `name`.
    pub fn encode(self, name: &str) -> String {
        if self.are_escaped { encode(name) } else { name.to_owned() }
    }

    /// The name that `id` represents.
    pub fn decode(self, id: &str) -> String {
        if self.are_escaped { decode(id) } else { id.to_owned() }
    }
}

/// Whether `name` can be an id.
fn is_id(name: &str) -> bool {
    !name.is_empty() && name.char_indices().all(|(index, character)| fits(index, character))
}

/// Whether an id can hold `character` at this `index`.
fn fits(index: usize, character: char) -> bool {
    character.is_alphabetic() || index > 0 && (character == '_' || character.is_alphanumeric())
}

/// The escaped id that represents `name`.
fn encode(name: &str) -> String {
    if name.is_empty() {
        return "u__".to_owned();
    }
    let mut id = String::with_capacity(name.len());
    for (index, character) in name.char_indices() {
        // A `u` that looks like an escape must itself be escaped.
        if fits(index, character) && !(character == 'u' && escape(&name[index..]).is_some()) {
            id.push(character);
        } else {
            write!(id, "u_{:X}_", u32::from(character)).expect("writing to a string cannot fail");
        }
    }
    id
}

/// The name that was escaped as `id`.
fn decode(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    let mut rest = id;
    while let Some(offset) = rest.find('u') {
        name.push_str(&rest[..offset]);
        rest = &rest[offset..];
        let length = match escape(rest) {
            Some((character, length)) => {
                name.extend(character);
                length
            }
            None => {
                name.push('u');
                1
            }
        };
        rest = &rest[length..];
    }
    name.push_str(rest);
    name
}

/// The character that the escape at the start of `text` represents, and the length of the escape in
/// bytes; `None` if there is no escape. The escape `u__`, which represents the empty name, has no
/// character.
fn escape(text: &str) -> Option<(Option<char>, usize)> {
    let digits = text.strip_prefix("u_")?;
    let length = digits.find('_').filter(|&length| length <= 6)?;
    let digits = &digits[..length];
    let character = if digits.is_empty() {
        None
    } else {
        let hex = |digit: u8| digit.is_ascii_digit() || (b'A'..=b'F').contains(&digit);
        if !digits.bytes().all(hex) {
            return None;
        }
        Some(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?)
    };
    Some((character, length + 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_restored_and_plain_names_stay_unchanged() {
        assert_eq!(encode("Tub_or_Lung2"), "Tub_or_Lung2");
        assert_eq!(encode("20_MG"), "u_32_0_MG");
        assert_eq!(encode("a b"), "au_20_b");
        let unusual =
            ["", "_", "u__", "u_20_", "uu_20_", "20 MG/L", "<5", "a\u{a0}b", "\u{e9}\u{1f600}"];
        for name in unusual.iter().chain(&["u_x_", "u_1234567_", "u", "u_", "Menu_2_go", "u_D800_"])
        {
            let id = encode(name);
            assert_eq!(decode(&id), *name, "{id}");
            assert!(is_id(&id), "{id}");
        }
    }
}
