"""Coverage-guided fuzzing of the readers of files, with atheris (Linux).

    python campaigns/fuzz.py TARGET --begin   # write small files of every kind to begin with
    python campaigns/fuzz.py TARGET -max_total_time=1440 -rss_limit_mb=2000
    python campaigns/fuzz.py TARGET --keep    # what is in build/fuzz/TARGET, as corpus/TARGET.zip
    python campaigns/fuzz.py --replay         # all that was kept once, without atheris

A target is "conll" or one of the formats of _formats.py, whose inputs are parts of files: sizes and
checksums are added. Inputs are in build/fuzz/TARGET; -merge=1 copies as few as reach the same. An
exception that a reader may not raise is written to build/fuzz/TARGET.found, and fuzzing goes on; at
a crash or a hang it ends, and keeps the input. README.md says how to sanitize the kernels.
"""

import shutil
import sys
import warnings
import zipfile
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from random import Random

import _campaign  # noqa: F401 (before numpy)
from _crashes import place_of

IS_FUZZING = __name__ == "__main__" and not {"--begin", "--keep", "--replay"} & set(sys.argv)
if IS_FUZZING:
    import atheris

    atheris.instrument_imports(include=["sklearn_crcrf"]).__enter__()

import _conll  # noqa: E402 (after atheris)
import _files  # noqa: E402
from _formats import FORMATS, joined, parts_in  # noqa: E402

FOLDER = Path(__file__).parent
BUILD = FOLDER.parent / "build" / "fuzz"
ALLOWED = ValueError, OSError
TARGETS = "conll", *FORMATS
LARGEST, MOST_KEPT = 60_000, 200_000  # bytes of a first input, and of all that are kept
X = {"sequences": [["the", "dog"], ["zzz"]], "dicts": [[{"w": "the"}, {"w": "dog", "n": 2.0}]]}


def try_input(target: str, data: bytes) -> None:
    """Read some bytes in this folder, and ask what is in them."""
    if target == "conll":  # the first byte chooses the options
        _conll.try_reading(data[1:], _conll.OPTIONS[sum(data[:1]) % len(_conll.OPTIONS)])
        return
    parts, path = parts_in(data), Path("file")
    if parts:
        FORMATS[target].make(parts, path)
    else:
        path.write_bytes(data)
    try:
        for sequences in X.values():
            try:
                _files.READERS[target](Random(0), path, sequences)
            except ALLOWED:
                continue
            except TypeError as error:  # as documented, of taggers
                if "the token must be" not in str(error):
                    raise
    finally:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def begin(target: str) -> None:
    """Write the kept inputs and small files of every kind, for fuzzing to begin with."""
    inputs = [bytes([k]) + text for k in (0, 15, 17, 18) for text in _conll.TEXTS]
    if target != "conll":
        _files.prepare()
        inputs = [joined(it.parts) for it in _files.stored if it.format == target]
    folder = BUILD / target
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate([*inputs, *kept(target)]):
        if len(data) <= LARGEST:
            (folder / f"first {number}").write_bytes(data)


def mutated(data: bytes, most: int, seed: int) -> bytes:
    """Other bytes; of files with parts, most often some parts that are changed as such."""
    rng, parts = Random(seed), parts_in(data)
    if not parts or rng.random() < 0.05:
        return atheris.Mutate(data, most)
    if rng.random() < 0.5:
        return joined(_files.damaged(rng, parts))[:most]
    name = rng.choice(list(parts))
    parts[name] = atheris.Mutate(parts[name], len(parts[name]) + 64)
    return joined(parts)[:most]


def replay(target: str) -> int:
    """Try the kept inputs; return how many there are."""
    inputs = kept(target)
    for data in inputs:
        with suppress(*ALLOWED):
            try_input(target, data)
    return len(inputs)


def kept(target: str) -> list[bytes]:
    """The kept inputs."""
    with zipfile.ZipFile(FOLDER / "corpus" / f"{target}.zip") as archive:
        return [archive.read(name) for name in archive.namelist()]


def keep(target: str) -> None:
    """Keep inputs in build/fuzz/TARGET: the smallest, as long as they are few bytes together."""
    inputs = sorted((path.read_bytes() for path in (BUILD / target).iterdir()), key=len)
    sizes = accumulate(map(len, inputs))
    inputs = [data for data, size in zip(inputs, sizes, strict=True) if size <= MOST_KEPT]
    path = FOLDER / "corpus" / f"{target}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for number, data in enumerate(inputs):
            archive.writestr(zipfile.ZipInfo(f"{number:04}"), data, zipfile.ZIP_DEFLATED)


def fuzz(target: str, options: list[str]) -> None:
    """Try inputs that reach more and more."""
    folder, known = BUILD / target, set()

    def one(data: bytes) -> None:
        try:
            try_input(target, data)
        except ALLOWED:
            pass
        except Exception as error:
            what = f"{type(error).__name__} at {place_of(error)}"
            if what not in known:
                known.add(what)
                with (BUILD / f"{target}.found").open("a") as file:
                    print(f"{len(known)}: {what}: {str(error)[:300]}", file=file)
                (BUILD / f"{target}.found.{len(known)}").write_bytes(data)

    atheris.Setup([sys.argv[0], str(folder), *options], one, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target, *options = sys.argv[1:]
    if target == "--replay":
        print({target: replay(target) for target in TARGETS})
    elif options == ["--begin"]:
        begin(target)
    elif options == ["--keep"]:
        keep(target)
    else:
        fuzz(target, options)
