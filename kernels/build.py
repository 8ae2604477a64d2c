#!/usr/bin/env python3
"""Makes the .ptx beside every .cu of this folder.

    pip install --no-deps --target DIR nvidia-cuda-nvrtc-cu12==12.0.76
    kernels/build.py DIR

NVRTC 12.0 writes PTX ISA 8.0 for compute_70, which drivers from 2023 on take for any GPU from
Volta on; of what pays there, a second one for compute_80. It needs neither a GPU nor the CUDA toolkit. Each .ptx begins with a hash of what it was
made from; a test compares it with the sources. With no argument, only says which are out of date.
"""

import ctypes
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = ["--std=c++17", f"--include-path={HERE}"]

# Extension of what is made, and for which virtual architecture.
TARGETS = {".ptx": "compute_70", ".sm80.ptx": "compute_80"}


def targets(source: pathlib.Path) -> list[str]:
    return [".ptx", ".sm80.ptx"] if source.stem == "propagate" else [".ptx"]


def source_hash(source: pathlib.Path) -> str:
    """FNV-1a, 64 bits, of the headers in order of name and then the source."""
    data = b"".join(p.read_bytes() for p in sorted(HERE.glob("*.cuh"))) + source.read_bytes()
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def compile_ptx(nvrtc: ctypes.CDLL, source: pathlib.Path, architecture: str) -> str:
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
    options = [option.encode() for option in [f"--gpu-architecture={architecture}", *OPTIONS]]
    check(nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)))
    size = ctypes.c_size_t()
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx.value.decode()


def main() -> None:
    sources = sorted(HERE.rglob("*.cu"))
    header = "// source {}\n"
    if len(sys.argv) < 2:
        for ptx, source in ((s.with_suffix(e), s) for s in sources for e in targets(s)):
            current = ptx.exists() and ptx.read_text().startswith(header.format(source_hash(source)))
            print(f"{'current' if current else 'OUT OF DATE'}  {ptx.relative_to(HERE)}")
        return
    library = next(pathlib.Path(sys.argv[1]).rglob("libnvrtc.so.12"))
    builtins = next(library.parent.glob("libnvrtc-builtins.so.*"))
    ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(library))
    for source in sources:
        for extension in targets(source):
            text = header.format(source_hash(source)) + compile_ptx(nvrtc, source, TARGETS[extension])
            source.with_suffix(extension).write_text(text)
            print(f"{len(text):7}  {source.with_suffix(extension).relative_to(HERE)}")


if __name__ == "__main__":
    main()
