//! The kernels as they are embedded: PTX, which the driver compiles for the GPU it finds.

/// `(path of the source in kernels/ without extension, architecture, PTX)` of all that is embedded.
#[cfg(test)]
const ALL: [(&str, u32, &str); 7] = [
    ("empty", 70, EMPTY),
    ("lanes", 70, LANES),
    ("paper/initialise", 70, PAPER_INITIALISE),
    ("paper/marginals", 70, PAPER_MARGINALS),
    ("paper/message", 70, PAPER_MESSAGE),
    ("propagate", 70, PROPAGATE),
    ("propagate", 80, PROPAGATE_80),
];

pub(super) const EMPTY: &str = include_str!("../../../kernels/empty.ptx");
pub(super) const LANES: &str = include_str!("../../../kernels/lanes.ptx");
pub(super) const PAPER_INITIALISE: &str = include_str!("../../../kernels/paper/initialise.ptx");
pub(super) const PAPER_MARGINALS: &str = include_str!("../../../kernels/paper/marginals.ptx");
pub(super) const PAPER_MESSAGE: &str = include_str!("../../../kernels/paper/message.ptx");

pub(super) const PROPAGATE: &str = include_str!("../../../kernels/propagate.ptx");
/// The same for GPUs from compute capability 8.0 on.
pub(super) const PROPAGATE_80: &str = include_str!("../../../kernels/propagate.sm80.ptx");

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    /// The files below `folder` with this extension, in order.
    fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(files(&path, extension));
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
        found.sort();
        found
    }

    /// FNV-1a with 64 bits, as in `kernels/build.py`.
    fn hash(data: &[u8]) -> u64 {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        data.iter().fold(0xcbf2_9ce4_8422_2325, step)
    }

    #[test]
    fn every_kernel_is_embedded_as_its_source_stands() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        let headers = files(&folder, "cuh");
        let headers: Vec<u8> =
            headers.iter().flat_map(|header| std::fs::read(header).unwrap()).collect();
        let sources = files(&folder, "cu");
        let name = |path: &PathBuf| {
            let path = path.strip_prefix(&folder).unwrap().with_extension("");
            path.to_str().unwrap().replace('\\', "/")
        };
        let mut names: Vec<String> = sources.iter().map(name).collect();
        names.sort();
        let mut embedded = ALL.map(|(name, ..)| name).to_vec();
        embedded.sort_unstable();
        embedded.dedup();
        assert_eq!(names, embedded);
        for (name, architecture, ptx) in ALL {
            let source = std::fs::read(folder.join(name).with_extension("cu")).unwrap();
            let expected = format!("// source {:016x}\n", hash(&[&*headers, &source].concat()));
            assert!(ptx.starts_with(&expected), "{name}.ptx is old; run kernels/build.py");
            assert!(
                ptx.contains(&format!(".version 8.0\n.target sm_{architecture}")),
                "{name}.ptx"
            );
        }
    }
}
