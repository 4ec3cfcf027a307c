"""Build the Cython kernels: every ``sklearn_crcrf/_kernels/*.pyx`` becomes one extension."""

from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}

extensions = [
    Extension(
        path.removesuffix(".pyx").replace("/", "."),
        [path],
        extra_compile_args=["-O3", "-fno-math-errno"],
    )
    for path in sorted(glob("sklearn_crcrf/_kernels/*.pyx"))
]

setup(ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES))
