#!/usr/bin/env python3
"""Compiles each .cu file below this folder to the .ptx files next to it.

    pip install --no-deps --target DIR nvidia-cuda-nvrtc-cu12==12.0.76
    kernels/build.py DIR            compiles all kernels
    kernels/build.py --check [DIR]  compiles all kernels and compares the result with the .ptx files
    kernels/build.py                lists which .ptx files are out of date, without a compiler

DIR contains NVRTC, NVIDIA's compiler library. Without DIR, --check looks for NVRTC in the folder
named by the environment variable NVRTC_DIR, or else in the installed Python package
nvidia.cuda_nvrtc. --check exits with status 0 if all files are equal, 1 if a file differs, and 77
if there is no NVRTC 12.0. Neither a GPU nor the CUDA toolkit is needed.

NVRTC 12.0 writes PTX ISA 8.0, which drivers from 2023 on accept. Each kernel is compiled for
compute_70, which runs on every GPU from Volta on. batch.cu and persistent.cu are also compiled for
compute_80, which has asynchronous copies and (used by persistent.cu) cache hints. persistent.cu
and table_free.cu are also compiled for max-product, which semiring.cuh describes. The first line of a .ptx file is a hash of its
sources; a test in src/engine/cuda/kernels.rs compares this hash with the sources.
"""

import ctypes
import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = ["--std=c++17", f"--include-path={HERE}"]

# The version that compiled the .ptx files. Other versions compile the kernels differently.
VERSION = (12, 0)

# Exit status of --check without a compiler: the status of a skipped test in Automake's test
# harness.
SKIPPED = 77

# Extension of each output, the virtual architecture that the output is compiled for, and the
# semiring of its kernels (semiring.cuh).
TARGETS = {
    ".ptx": ("compute_70", "SumProduct"),
    ".sm80.ptx": ("compute_80", "SumProduct"),
    ".max.ptx": ("compute_70", "MaxProduct"),
}


class NoCompiler(Exception):
    """NVRTC was not found, or it has another version."""


def targets(source: pathlib.Path) -> list[str]:
    """The extensions of the .ptx files of a source."""
    extensions = {
        "batch": [".ptx", ".sm80.ptx"],
        "persistent": list(TARGETS),
        "table_free": [".ptx", ".max.ptx"],
    }
    return extensions.get(source.stem, [".ptx"])


def source_hash(source: pathlib.Path) -> str:
    """FNV-1a, 64 bits, of all headers in order of their names, followed by the source."""
    data = b"".join(p.read_bytes() for p in sorted(HERE.glob("*.cuh"))) + source.read_bytes()
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def header(source: pathlib.Path) -> str:
    """The first line of the .ptx files of a source."""
    return f"// source {source_hash(source)}\n"


def find_nvrtc() -> pathlib.Path:
    """The folder of NVRTC from the environment or from the installed Python package."""
    if folder := os.environ.get("NVRTC_DIR"):
        return pathlib.Path(folder)
    try:
        package = importlib.util.find_spec("nvidia.cuda_nvrtc")
    except ModuleNotFoundError:
        package = None
    if package is None:
        raise NoCompiler("NVRTC_DIR is not set, and there is no Python package nvidia.cuda_nvrtc")
    return pathlib.Path(next(iter(package.submodule_search_locations)))


def load_nvrtc(folder: pathlib.Path) -> ctypes.CDLL:
    """Loads NVRTC from `folder`, and checks its version."""
    library = next(folder.rglob("libnvrtc.so.12"), None)
    if library is None:
        raise NoCompiler(f"there is no libnvrtc.so.12 in {folder}")
    builtins = next(library.parent.glob("libnvrtc-builtins.so.*"), None)
    if builtins is None:
        raise NoCompiler(f"there is no libnvrtc-builtins.so beside {library}")
    ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(library))
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (major.value, minor.value) != VERSION:
        raise NoCompiler(f"NVRTC 12.0 is needed, and {library} is {major.value}.{minor.value}")
    return nvrtc


def compile_ptx(nvrtc: ctypes.CDLL, source: pathlib.Path, target: tuple[str, str]) -> str:
    """The PTX of `source` for a target. Ends the program if the source does not compile."""
    program = ctypes.c_void_p()
    name = source.relative_to(HERE).as_posix()

    def check(code: int) -> None:
        if code == 0:
            return
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"{name}: error {code}\n{log.value.decode()}")

    text = source.read_bytes()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name.encode(), 0, None, None))
    architecture, semiring = target
    options = [f"--gpu-architecture={architecture}", f"--define-macro=SEMIRING={semiring}"]
    options = [option.encode() for option in [*options, *OPTIONS]]
    array = (ctypes.c_char_p * len(options))(*options)
    check(nvrtc.nvrtcCompileProgram(program, len(options), array))
    size = ctypes.c_size_t()
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx.value.decode()


def outputs() -> list[tuple[pathlib.Path, pathlib.Path, tuple[str, str]]]:
    """Source, output and target of every .ptx file."""
    return [
        (source, source.with_suffix(extension), TARGETS[extension])
        for source in sorted(HERE.rglob("*.cu"))
        for extension in targets(source)
    ]


def list_outdated() -> None:
    """Prints for each .ptx file whether it was made from the source as it is now."""
    for source, ptx, _ in outputs():
        current = ptx.exists() and ptx.read_text().startswith(header(source))
        print(f"{'current' if current else 'OUT OF DATE'}  {ptx.relative_to(HERE)}")


def build(nvrtc: ctypes.CDLL) -> None:
    """Compiles all kernels, and writes the .ptx files."""
    for source, ptx, target in outputs():
        text = header(source) + compile_ptx(nvrtc, source, target)
        ptx.write_text(text)
        print(f"{len(text):7}  {ptx.relative_to(HERE)}")


def check(nvrtc: ctypes.CDLL) -> bool:
    """Whether every .ptx file is what the compiler makes of its source."""
    differing = [
        ptx.relative_to(HERE)
        for source, ptx, target in outputs()
        if not ptx.exists()
        or ptx.read_text() != header(source) + compile_ptx(nvrtc, source, target)
    ]
    for ptx in differing:
        print(f"DIFFERS  {ptx}")
    return not differing


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments:
        list_outdated()
    elif arguments[0] == "--check":
        try:
            nvrtc = load_nvrtc(pathlib.Path(arguments[1]) if arguments[1:] else find_nvrtc())
        except NoCompiler as reason:
            print(reason)
            sys.exit(SKIPPED)
        sys.exit(0 if check(nvrtc) else 1)
    else:
        try:
            build(load_nvrtc(pathlib.Path(arguments[0])))
        except NoCompiler as reason:
            sys.exit(str(reason))


if __name__ == "__main__":
    main()
