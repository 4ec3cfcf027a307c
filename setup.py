"""Build the Cython kernels of ``sklearn_crcrf/_kernels``, one extension for each.

Files that end in ``.pyx`` are compiled once. The kernels of ``VECTOR_KERNELS`` consist of ``.pxi``
files and are compiled for every vector type, into a package of that name; a file that includes
them is written for each before it is compiled. Which vector type is used is decided at import.

Two environment variables serve builds that look for faults (``campaigns/_sanitize.py``):
``SKLEARN_CRCRF_CFLAGS`` are options of the compiler in place of those below, and with
``SKLEARN_CRCRF_BOUNDSCHECK`` indices of arrays are checked. What Cython has translated is kept in
the folder ``CYTHON_CACHE_DIR``, if that is set.
"""

import os
import platform
import re
import sys
from glob import glob
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "sklearn_crcrf/_kernels"
PACKAGE = FOLDER.replace("/", ".")
# What Cython needs in all kernels that have views of arrays is compiled once.
MEMORYVIEWS = f"{PACKAGE}._memoryviews"
# Generated sources and C files, in the same folders as the sources.
WRITTEN, TRANSLATED = "build/kernels", "build/c"

# The packages of the vector types, and the options of gcc that allow their instructions.
VECTOR_TYPES = {
    "_baseline": [],
    "_avx2": ["-mavx2", "-mfma"],
    "_avx512": ["-mavx512f", "-mavx512dq", "-mfma", "-mprefer-vector-width=512"],
}
VECTOR_KERNELS = {
    "binary_labels": ["_binary_labels.pxi"],
    "history": ["_history.pxi"],
    "learning": [
        "_viterbi.pxi",
        "_search.pxi",
        "_corrections.pxi",
        "_margin_steps.pxi",
        "_dual_steps.pxi",
    ],
    "lattices": ["_lattice_sums.pxi", "_lattice_learning.pxi"],
    "lock_step": [
        "_scaled_scores.pxi",
        "_lock_step_blocks.pxi",
        "_lock_step.pxi",
        "_lock_step_backward.pxi",
        "_lock_step_covariance.pxi",
    ],
    "propagation": ["_propagation.pxi"],
    "row_sums": ["_row_sums.pxi"],
    "segments": [
        "_scaled_scores.pxi",
        "_lock_step_blocks.pxi",
        "_segment_rows.pxi",
        "_segment_edges.pxi",
        "_segment_sums.pxi",
        "_segment_sums_backward.pxi",
    ],
    "tagging": ["_viterbi.pxi", "_tagging.pxi", "_linear_tagging.pxi", "_counted_tagging.pxi"],
    "trees": [
        "_scaled_scores.pxi",
        "_tree_sums.pxi",
        "_tree_sums_down.pxi",
        "_tree_sums_covariance.pxi",
        "_tree_maxima.pxi",
    ],
    "viterbi": ["_viterbi.pxi", "_best_paths.pxi"],
}
# In these kernels products are not fused with sums, so that all vector types give the same bits.
UNFUSED = {"learning"}
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


class BuildKernels(build_ext):
    """Translate and compile; only this command knows the options of the compiler in use."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self):
        kind = self.compiler.compiler_type
        options = COMPILE_ARGS.get(kind, []) if GIVEN_ARGS is None else GIVEN_ARGS.split()
        for extension, translated in zip(self.extensions, translate(self.extensions), strict=True):
            vector_type, name = extension.name.split(".")[-2:]
            extension.sources = translated.sources
            extension.depends = with_included(translated.depends)
            extension.extra_compile_args = options + VECTOR_TYPES.get(vector_type, [])
            if name in UNFUSED and kind != "msvc":
                extension.extra_compile_args.append("-ffp-contract=off")
        super().build_extensions()


def extensions():
    """All that can be built here; vector types need the options of gcc and a processor of x86."""
    is_x86 = platform.machine().lower() in {"x86_64", "amd64"} and platform.system() != "Windows"
    vector_types = VECTOR_TYPES if is_x86 else ["_baseline"]
    yield Extension(MEMORYVIEWS, [f"{MEMORYVIEWS.replace('.', '/')}.c"])
    for path in sorted(glob(f"{FOLDER}/*.pyx")):
        yield Extension(f"{PACKAGE}.{Path(path).stem}", [path], include_dirs=[FOLDER])
    for vector_type in vector_types:
        for kernel in VECTOR_KERNELS:
            path = f"{WRITTEN}/{FOLDER}/{vector_type}/{kernel}.pyx"
            yield Extension(f"{PACKAGE}.{vector_type}.{kernel}", [path], include_dirs=[FOLDER])


def translate(extensions):
    """From Cython to C; not where setup.py is only asked what there is."""
    for extension in extensions:
        if extension.sources[0].startswith(WRITTEN):
            write_kernel(Path(extension.sources[0]))
    return cythonize(
        extensions,
        build_dir=TRANSLATED,
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=MEMORYVIEWS,
        cache="CYTHON_CACHE_DIR" in os.environ,
        # Where processes are not forked, each would begin with this file.
        nthreads=os.cpu_count() if sys.platform == "linux" else 0,
    )


def write_kernel(path):
    """Write the file of one vector type, unless it is there: a new one would be compiled again."""
    text = "".join(f'include "{FOLDER}/{part}"\n' for part in VECTOR_KERNELS[path.stem])
    if not (path.exists() and path.read_text() == text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def with_included(headers):
    """The C headers, and the headers of this package that they include."""
    found, todo = set(), list(headers)
    while todo:
        header = todo.pop()
        if header not in found and Path(header).exists():
            found.add(header)
            names = re.findall(r'#include "(.+)"', Path(header).read_text())
            todo += [f"{FOLDER}/{name}" for name in names]
    return sorted(found)


if __name__ == "__main__":
    setup(ext_modules=list(extensions()), cmdclass={"build_ext": BuildKernels})
