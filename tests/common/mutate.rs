//! Random mistakes in a file.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;

/// Pieces of text that readers are likely to handle wrongly.
const PIECES: [&[u8]; 28] = [
    b"",
    b" ",
    b"\n",
    b"\r",
    b"\0",
    b"\"",
    b"'",
    b"(",
    b")",
    b"{",
    b"}",
    b"<",
    b">",
    b"&#0;",
    b"&a;",
    b"<!--",
    b"]]>",
    b"/*",
    b"//",
    b"%",
    b"-1",
    b"1e999",
    b"nan",
    b"99999999999999999999",
    b"999999999",
    b"\xff\xfe",
    b"\xe6",
    b"\xf0\x9f\x98\x80",
];

/// `bytes` with up to four random mistakes.
pub fn mutate(bytes: &[u8], random: &mut Pcg64Mcg) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.random_range(1..=4) {
        let length = bytes.len();
        let start = random.random_range(0..=length);
        let end = random.random_range(start..=length.min(start + 40));
        match random.random_range(0..6) {
            0 if start < length => bytes[start] = random.random(),
            1 => drop(bytes.drain(start..end)),
            2 => {
                let copy = bytes[start..end].to_vec();
                let to = random.random_range(0..=length);
                bytes.splice(to..to, copy);
            }
            3 => bytes.truncate(start.max(1)),
            _ => {
                let piece = PIECES[random.random_range(0..PIECES.len())];
                bytes.splice(start..start, piece.iter().copied());
            }
        }
    }
    bytes
}
