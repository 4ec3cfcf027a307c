"""Build the Cython kernels of ``sklearn_crcrf/_kernels``, one extension for each ``.pyx``.

Cython translates each of them once. The kernels of ``WITH_CORES`` gain from wide vectors: in their
C file all recursions, the core, are written once for each set of instructions, and argument parsing
and all else once (:func:`with_cores`). Which core is called is decided at import.

A wheel has all sets; what is built in place has only the widest that this machine can run, which
takes half the time. Four environment variables change this or look for faults
(``campaigns/_sanitize.py``):

- ``SKLEARN_CRCRF_BUILD`` is "all", "native", or the names of sets with spaces between them;
- ``SKLEARN_CRCRF_CFLAGS`` are options of the compiler in place of those below;
- with ``SKLEARN_CRCRF_BOUNDSCHECK`` indices of arrays are checked;
- what Cython has translated is kept in the folder ``CYTHON_CACHE_DIR``.
"""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "sklearn_crcrf/_kernels"
PACKAGE = FOLDER.replace("/", ".")
# What Cython needs in all kernels that have views of arrays is compiled once.
MEMORYVIEWS = f"{PACKAGE}._memoryviews"
TRANSLATED = "build/c"

# The sets of instructions, narrowest first, as gcc and clang call them.
TARGETS = {
    "baseline": "",
    "avx2": "avx2,fma",
    "avx512": "avx512f,avx512dq,fma,prefer-vector-width=512",
}
WITH_CORES = {
    "chain/lock_step",
    "chain/viterbi",
    "graph/propagation",
    "lattice/sums",
    "segments/sums",
    "sparse/history",
    "sparse/row_sums",
    "text/tagging",
    "tree/binary_labels",
    "tree/learning",
    "tree/sums",
}
# In these kernels products are not fused with sums, so that all cores give the same bits.
UNFUSED = {"tree/learning"}
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": "SKLEARN_CRCRF_BOUNDSCHECK" in os.environ,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "auto_pickle": False,  # of no use, and many lines for each class
}
COMPILE_ARGS = {
    "unix": ["-O3", "-g0", "-fno-math-errno"],
    "mingw32": ["-O3", "-g0", "-fno-math-errno"],
    "msvc": ["/O2", "/std:c11"],
}
GIVEN_ARGS = os.environ.get("SKLEARN_CRCRF_CFLAGS")


class BuildKernels(build_ext):
    """Translate and compile; only this command knows the compiler in use, and what for."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        # The command sets this back while it compiles.
        self.is_for_here = self.inplace or self.editable_mode

    def build_extensions(self):
        kind = self.compiler.compiler_type
        options = COMPILE_ARGS.get(kind, []) if GIVEN_ARGS is None else GIVEN_ARGS.split()
        sets = self.instruction_sets()
        for extension, translated in zip(self.extensions, translate(self.extensions), strict=True):
            kernel = extension.name.removeprefix(f"{PACKAGE}.").replace(".", "/")
            extension.sources = translated.sources
            extension.depends = with_included([*translated.depends, f"{FOLDER}/cores.h"])
            extension.extra_compile_args = options[:]
            if kernel.startswith("text/"):
                extension.define_macros = [("READS_STRINGS", None)]
            if extension.name != MEMORYVIEWS:
                own_sets = sets if kernel in WITH_CORES or kernel == "machine" else []
                extension.sources = [write_with_cores(Path(translated.sources[0]), own_sets)]
            elif kind != "msvc":
                extension.extra_compile_args.append("-Os")
            if kernel in UNFUSED and kind != "msvc":
                extension.extra_compile_args.append("-ffp-contract=off")
            if GIVEN_ARGS is None and sys.platform == "linux":
                extension.extra_link_args = ["-s"]  # no names for debuggers
        super().build_extensions()

    def instruction_sets(self):
        """Names of the sets of instructions that kernels are compiled for."""
        is_x86 = platform.machine().lower() in {"x86_64", "amd64"}
        if not is_x86 or platform.system() == "Windows":
            return ["baseline"]
        default = "native" if self.is_for_here else "all"
        asked = os.environ.get("SKLEARN_CRCRF_BUILD") or default
        if asked == "all":
            return list(TARGETS)
        names = self.native_set() if asked == "native" else asked
        if not set(names.split()) <= set(TARGETS):
            raise ValueError(
                f"SKLEARN_CRCRF_BUILD must be all, native, or names of {', '.join(TARGETS)} "
                f"with spaces between them, but is {asked!r}"
            )
        return [name for name in TARGETS if name in names.split()]

    def native_set(self):
        """The widest set of instructions that this machine can run, which the compiler knows."""
        command = [
            *self.compiler.compiler_so,
            *["-march=native", "-E", "-dM", "-x", "c"],
            os.devnull,
        ]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        for name, target in reversed(TARGETS.items()):
            features = (part for part in target.split(",") if part and "=" not in part)
            if all(f"#define __{feature.upper()}__ " in found for feature in features):
                return name


def extensions():
    """All that can be built here."""
    yield Extension(MEMORYVIEWS, [f"{MEMORYVIEWS.replace('.', '/')}.c"])
    for path in sorted(Path(FOLDER).rglob("*.pyx")):
        name = ".".join(path.with_suffix("").parts)
        yield Extension(name, [path.as_posix()], include_dirs=[FOLDER])


def translate(extensions):
    """From Cython to C; not where setup.py is only asked what there is."""
    return cythonize(
        extensions,
        build_dir=TRANSLATED,
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=MEMORYVIEWS,
        cache="CYTHON_CACHE_DIR" in os.environ,
        # Where processes are not forked, each would begin with this file.
        nthreads=os.cpu_count() if sys.platform == "linux" else 0,
    )


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


def write_with_cores(path, sets):
    """Write a file beside the one of Cython, unless it is there: a new one would be compiled."""
    cores = path.with_name(f"{path.stem}_cores.c")
    text = with_cores(path.read_text(encoding="utf-8"), sets)
    if not (cores.exists() and cores.read_text(encoding="utf-8") == text):
        cores.write_text(text, encoding="utf-8")
    return cores.as_posix()


# Cython marks the section of its file that has the functions of a module.
FUNCTIONS = re.compile(
    r"(.*\n/\* #### Code section: module_code ### \*/\n)"
    r"(.*)(/\* #### Code section: module_exttypes ### \*/\n.*)",
    re.DOTALL,
)
# Functions of C, and what functions of Python do after their arguments are parsed.
FUNCTION = re.compile(
    r"^static [^;={}()]*?\b((?:__pyx_fuse_\w+?)?__pyx_p?f_\w+)\([^;{}]*\) \{\n"
    r".*?/\* function exit code \*/\n.*?^\}\n",
    re.MULTILINE | re.DOTALL,
)
# All else that Cython writes runs once in each call, and shall be small. Only gcc knows how; and
# what reads strings calls it for each of them.
IF_SMALL = "#if defined(__GNUC__) && !defined(__clang__) && !defined(READS_STRINGS)\n"
SMALL = f'{IF_SMALL}#pragma GCC push_options\n#pragma GCC optimize("Os")\n#endif\n'
FAST = f"{IF_SMALL}#pragma GCC pop_options\n#endif\n"
NOT_OF_CORE = re.compile(r"__[gs]et__\(|_cython__\(|_genexpr\(|\*__pyx_v_signatures")
# What headers define: functions, types of vectors, and functions that macros write.
DEFINED = re.compile(
    r"^(?:INLINE|static)\b[^(\n]*\b(\w+)\(|^typedef .*\b(\w+) __attr|^[A-Z_]+\((\w+), ",
    re.MULTILINE,
)


def with_cores(text, sets):
    """The C of a kernel, with a core for each of the sets of instructions, if any, and small else.

    Each core defines the functions under names of its own, and includes again the headers that
    have vectors, for the instructions that the compiler may then use.
    """
    built = f'#define BUILT_SETS "{" ".join(sets)}"\n'
    before, functions, after = FUNCTIONS.fullmatch(text).groups()
    found = [
        match
        for match in FUNCTION.finditer(functions)
        if not NOT_OF_CORE.search(match[0].split("\n")[0])
    ]
    names = [match[1] for match in found]
    headers = re.findall(r'^#include "(.+\.h)"$', before, re.MULTILINE)
    headers = [name for name in headers if "vectors.h" in "".join(read_headers([name]))]
    if not (names and headers and sets):
        for match in found:
            functions = functions.replace(match[0], FAST + match[0] + SMALL)
        return "".join([built, before, SMALL, functions, after, FAST])
    prototypes = [f"{match[0].split(' {', 1)[0]};\n" for match in found]
    for match in found:
        functions = functions.replace(match[0], "")
    declared = re.compile(rf"^static .*\b(?:{'|'.join(names)})\(.*\*/\n", re.MULTILINE)
    before, functions = (declared.sub("", part) for part in (before, functions))
    names += names_of(headers)
    defined = "".join(f"#define {name} OF_SET({name})\n" for name in names)
    # Comments name types of headers, too, which cannot be called.
    words = set(re.findall(r"__pyx_\w+|\w+(?=\()", functions + after))
    called = [name for name in names if name in words]
    core = "".join([*(f'#include "{name}"\n' for name in headers), *prototypes])
    core += "".join(match[0] for match in found)
    cores = [core_for(name, headers, core) for name in sets]
    chosen = "".join(choice(name, sets) for name in called)
    core = "".join(['#include "cores.h"\n', defined, *cores, chosen])
    return "".join([built, before, core, SMALL, functions, after, FAST])


def core_for(name, headers, core):
    """A core for one set of instructions, and the pragmas that allow them."""
    guards = re.findall(r"^#ifndef (\w+_H)$", "".join(read_headers(headers)), re.MULTILINE)
    target = TARGETS[name]
    push = (
        "#ifdef __clang__\n#pragma clang attribute push "
        f'(__attribute__((target("{target.split(",prefer")[0]}"))), apply_to = function)\n'
        f'#else\n#pragma GCC push_options\n#pragma GCC target("{target}")\n#endif\n'
    )
    pop = "#ifdef __clang__\n#pragma clang attribute pop\n#else\n#pragma GCC pop_options\n#endif\n"
    return "".join(
        [
            f"#define SET _{name}\n#define INSTRUCTIONS {list(TARGETS).index(name)}\n",
            *(f"#undef {guard}\n" for guard in guards),
            push if target else "",
            core,
            pop if target else "",
            "#undef SET\n#undef INSTRUCTIONS\n",
        ]
    )


def choice(name, sets):
    """Let a name stand for the function of the core that is in use."""
    if len(sets) == 1:
        return f"#undef {name}\n#define {name} {name}_{sets[0]}\n"
    of_sets = ", ".join(f"{name}_{of}" if of in sets else "0" for of in TARGETS)
    return (
        f"#undef {name}\nstatic __typeof__({name}_{sets[0]}) *const {name}_of[] = {{{of_sets}}};\n"
        f"#define {name} (*{name}_of[chosen_set()])\n"
    )


def read_headers(headers):
    """The texts of headers, and of those they include, without Cython's own."""
    paths = with_included(f"{FOLDER}/{name}" for name in headers)
    return [path + Path(path).read_text() for path in paths]


def names_of(headers):
    """What is defined by headers that are included for each core."""
    texts = read_headers(headers)
    names = {name for text in texts for found in DEFINED.findall(text) for name in found if name}
    typed = {name for text in texts for name in re.findall(r"NAME\((\w+)\)", text)} - {"x"}
    return sorted(names - {"NAME"} | {f"{name}_{kind}" for name in typed for kind in "df"})


if __name__ == "__main__":
    setup(ext_modules=list(extensions()), cmdclass={"build_ext": BuildKernels})
