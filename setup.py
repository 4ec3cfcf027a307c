"""Build the Cython kernels: every ``sklearn_crcrf/_kernels/**/*.pyx`` becomes one extension.

Those in the folders of an instruction set are compiled for it; which are used is decided when
they are imported.

Two environment variables serve builds that look for faults (``campaigns/sanitize.py``):
``SKLEARN_CRCRF_CFLAGS`` are options of the compiler in place of those below, and with
``SKLEARN_CRCRF_BOUNDSCHECK`` indices of arrays are checked.
"""

import os
import platform
import sys
from glob import glob
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": "SKLEARN_CRCRF_BOUNDSCHECK" in os.environ,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
COMPILE_ARGS = {
    "unix": ["-O3", "-g0", "-fno-math-errno"],
    "mingw32": ["-O3", "-g0", "-fno-math-errno"],
    "msvc": ["/O2"],
}
GIVEN_ARGS = os.environ.get("SKLEARN_CRCRF_CFLAGS")
# What Cython needs in all kernels that have views of arrays is compiled once.
MEMORYVIEWS = "sklearn_crcrf._kernels._memoryviews"
INSTRUCTIONS = {
    "_avx2": ["-mavx2", "-mfma"],
    "_avx512": ["-mavx512f", "-mavx512dq", "-mfma", "-mprefer-vector-width=512"],
}


class BuildKernels(build_ext):
    """Translate and compile; only this command knows the options of the compiler in use."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self):
        kind = self.compiler.compiler_type
        for extension, translated in zip(self.extensions, translate(self.extensions), strict=True):
            extension.sources = translated.sources
            instructions = INSTRUCTIONS.get(Path(extension.sources[0]).parent.name, [])
            options = COMPILE_ARGS.get(kind, []) if GIVEN_ARGS is None else GIVEN_ARGS.split()
            extension.extra_compile_args = options + instructions
        super().build_extensions()


def translate(extensions):
    """From Cython to C; not where setup.py is only asked what there is."""
    return cythonize(
        extensions,
        build_dir="build/cython",
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=MEMORYVIEWS,
        # Where processes are not forked, each would begin with this file.
        nthreads=os.cpu_count() if sys.platform == "linux" else 0,
    )


def can_build(path):
    """Instruction sets need a processor that may have them, and the options of gcc."""
    is_x86 = platform.machine().lower() in {"x86_64", "amd64"} and platform.system() != "Windows"
    return is_x86 or Path(path).parent.name not in INSTRUCTIONS


extensions = [
    Extension(
        ".".join(Path(path).with_suffix("").parts),
        [path],
        include_dirs=["sklearn_crcrf/_kernels"],
        depends=glob("sklearn_crcrf/_kernels/*.h"),
    )
    for path in sorted(glob("sklearn_crcrf/_kernels/**/*.pyx", recursive=True))
    if can_build(path)
]

setup(
    ext_modules=[Extension(MEMORYVIEWS, [f"{MEMORYVIEWS.replace('.', '/')}.c"]), *extensions],
    cmdclass={"build_ext": BuildKernels},
)
