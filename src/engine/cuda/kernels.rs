//! The embedded kernels, as PTX, which the driver compiles for the GPU of the machine.

/// For each PTX file: the path of its source in kernels/ without extension, the minimum compute
/// capability times ten, and the text.
#[cfg(test)]
const ALL: [(&str, u32, &str); 11] = [
    ("batch", 70, BATCH),
    ("batch", 80, BATCH_80),
    ("empty", 70, EMPTY),
    ("paper/initialise", 70, PAPER_INITIALISE),
    ("paper/marginals", 70, PAPER_MARGINALS),
    ("paper/message", 70, PAPER_MESSAGE),
    ("persistent", 70, PERSISTENT),
    ("persistent", 80, PERSISTENT_80),
    ("persistent", 70, PERSISTENT_MAX),
    ("table_free", 70, TABLE_FREE),
    ("table_free", 70, TABLE_FREE_MAX),
];

pub(super) const BATCH: &str = include_str!("../../../kernels/batch.ptx");
/// [`BATCH`] for GPUs of compute capability 8.0 or higher.
pub(super) const BATCH_80: &str = include_str!("../../../kernels/batch.sm80.ptx");
pub(super) const EMPTY: &str = include_str!("../../../kernels/empty.ptx");
pub(super) const PAPER_INITIALISE: &str = include_str!("../../../kernels/paper/initialise.ptx");
pub(super) const PAPER_MARGINALS: &str = include_str!("../../../kernels/paper/marginals.ptx");
pub(super) const PAPER_MESSAGE: &str = include_str!("../../../kernels/paper/message.ptx");
pub(super) const PERSISTENT: &str = include_str!("../../../kernels/persistent.ptx");
/// [`PERSISTENT`] for GPUs of compute capability 8.0 or higher.
pub(super) const PERSISTENT_80: &str = include_str!("../../../kernels/persistent.sm80.ptx");
/// [`PERSISTENT`] for max-product, for all GPUs.
pub(super) const PERSISTENT_MAX: &str = include_str!("../../../kernels/persistent.max.ptx");
pub(super) const TABLE_FREE: &str = include_str!("../../../kernels/table_free.ptx");
/// [`TABLE_FREE`] for max-product.
pub(super) const TABLE_FREE_MAX: &str = include_str!("../../../kernels/table_free.max.ptx");

#[cfg(test)]
pub(super) mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;

    /// The folder of the kernels.
    pub(in crate::engine::cuda) fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
    }

    /// The files with this extension in `folder` and its subfolders, sorted by path.
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

    /// 64-bit FNV-1a, as in `kernels/build.py`.
    fn hash(data: &[u8]) -> u64 {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        data.iter().fold(0xcbf2_9ce4_8422_2325, step)
    }

    #[test]
    fn every_kernel_is_embedded_and_its_ptx_is_up_to_date() {
        let folder = folder();
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
            let file = format!("the PTX of {name}.cu for sm_{architecture}");
            assert!(ptx.starts_with(&expected), "{file} is out of date; run kernels/build.py");
            assert!(ptx.contains(&format!(".version 8.0\n.target sm_{architecture}")), "{file}");
        }
    }

    /// Compiles all kernels with NVRTC 12.0, which must be in the folder that the environment
    /// variable `NVRTC_DIR` names, or else in the Python package `nvidia.cuda_nvrtc`. Without
    /// NVRTC 12.0 or `python3` the test is skipped, unless `REQUIRE_NVRTC=1` is set.
    #[test]
    fn compiling_the_kernels_reproduces_the_ptx() {
        /// Exit status of `build.py --check` without a compiler.
        const NO_COMPILER: i32 = 77;
        let output = Command::new("python3").arg(folder().join("build.py")).arg("--check").output();
        let (status, message) = match output {
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                (output.status.code(), String::from_utf8_lossy(&text).trim().to_owned())
            }
            Err(error) => (Some(NO_COMPILER), format!("python3 did not start: {error}")),
        };
        let is_required = std::env::var_os("REQUIRE_NVRTC").is_some_and(|value| value == "1");
        if status == Some(NO_COMPILER) && !is_required {
            eprintln!("compiling_the_kernels_reproduces_the_ptx is SKIPPED: {message}");
            return;
        }
        assert_eq!(status, Some(0), "{message}");
    }
}
