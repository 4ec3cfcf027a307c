"""Build the Cython kernels: every ``sklearn_crcrf/_kernels/*.pyx`` becomes one extension."""

from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
COMPILE_ARGS = {
    "unix": ["-O3", "-g0", "-fno-math-errno"],
    "mingw32": ["-O3", "-g0", "-fno-math-errno"],
    "msvc": ["/O2"],
}


class BuildKernels(build_ext):
    """Compile with the options of the compiler in use, which only this command knows."""

    def build_extensions(self):
        for extension in self.extensions:
            extension.extra_compile_args = COMPILE_ARGS.get(self.compiler.compiler_type, [])
        super().build_extensions()


extensions = [
    Extension(path.removesuffix(".pyx").replace("\\", "/").replace("/", "."), [path])
    for path in sorted(glob("sklearn_crcrf/_kernels/*.pyx"))
]

setup(
    ext_modules=cythonize(extensions, build_dir="build/cython", compiler_directives=DIRECTIVES),
    cmdclass={"build_ext": BuildKernels},
)
