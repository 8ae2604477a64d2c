//! Encodes names and labels as ids, and decodes ids. A character that an id cannot hold is written
//! as `u_HEX_`, where HEX is its code point. The empty name is `u__`.

use std::fmt::Write as _;

/// The id that represents `name`.
pub(super) fn encode(name: &str) -> String {
    if name.is_empty() {
        return "u__".to_owned();
    }
    let mut id = String::with_capacity(name.len());
    for (index, character) in name.char_indices() {
        let fits = if index == 0 {
            character.is_alphabetic()
        } else {
            character == '_' || character.is_alphanumeric()
        };
        // A `u` that looks like an escape must itself be escaped.
        if fits && !(character == 'u' && escape(&name[index..]).is_some()) {
            id.push(character);
        } else {
            write!(id, "u_{:X}_", u32::from(character)).expect("writing to a string cannot fail");
        }
    }
    id
}

/// The name that was encoded as `id`.
pub(super) fn decode(id: &str) -> String {
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
            assert!(id.chars().next().is_some_and(char::is_alphabetic), "{id}");
            assert!(id.chars().all(|c| c == '_' || c.is_alphanumeric()), "{id}");
        }
    }
}
