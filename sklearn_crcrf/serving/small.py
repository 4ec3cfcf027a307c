"""Small files of taggers: weights in 8 or 16 bits, without those that say little.

What follows from the rest of a file is left out, and made again when it is read: hash tables, and
the spelling of known words. The bytes of an array are stored by their place, first the lowest byte
of all its values, as that is easier to compress.
"""

import io
import re
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from ..utils.spelling import marked
from ..utils.unpacking import check_max_bytes
from .content import LARGEST_SHIFT, Content, pack_rows, string_arrays
from .counted import FEATURES, SPELLING
from .files import LEVEL, write_to

# The arrays whose values are rounded.
WEIGHTS = {"coef", "coef.data", "state.data", "edge.data"}
# Of counted taggers: they follow from the words.
OF_WORDS = {"spelling_rows", "context_ids"}
DTYPE = re.compile("[|<][biuf][1248]")
ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
# Bytes of memory of a string, with its places in a list and in a dict.
OF_STRING = 200
# How often the share of weights that are left out is halved, in search of the least.
N_HALVINGS = 7
TINY = np.finfo(float).tiny


def small(content: Content, bits: int | None, max_bytes: int | None) -> Content:
    """Return the content of a small file, with as many weights as fit in.

    Parameters
    ----------
    content : Content
        Of a tagger.
    bits : {8, 16} or None
        Of the weights; None to leave them as they are.
    max_bytes : int or None
        Of the compressed file.

    Raises
    ------
    ValueError
        If a file without all weights that may be left out is larger.
    """
    if bits not in (None, 8, 16):
        raise ValueError(f"bits must be 8, 16 or None, got {bits!r}")
    check_max_bytes(max_bytes)
    made = packed(content, bits)
    if max_bytes is None or _size(made) <= max_bytes:
        return made
    made = packed(without_weak(content, 1.0), bits)
    if _size(made) > max_bytes:
        raise ValueError(
            f"max_bytes={max_bytes}: the file needs {_size(made)} bytes without all weights that "
            "may be left out"
        )
    share = 1.0
    for k in range(1, N_HALVINGS + 1):
        tried = packed(without_weak(content, share - 0.5**k), bits)
        if _size(tried) <= max_bytes:
            made, share = tried, share - 0.5**k
    return made


def _size(content: Content) -> int:
    """Return the size of the compressed file."""
    file = io.BytesIO()
    write_to(file, content, level=LEVEL)
    return file.tell()


def packed(content: Content, bits: int | None) -> Content:
    """Leave out what follows from the rest, round weights, and store arrays byte by byte."""
    types, scales, arrays = {}, {}, {}
    for name, array in content.arrays.items():
        if name in OF_WORDS or name.endswith((".slots", ".key")):
            continue
        if bits is not None and name in WEIGHTS:
            is_signed = bool(array.min(initial=0.0) < 0.0)
            largest = float(np.abs(array).max(initial=0.0)) or 1.0
            scales[name] = largest / (2 ** (bits - is_signed) - 1)
            array = np.rint(array / scales[name]).astype(f"<{'ui'[is_signed]}{bits // 8}")
        types[name] = array.dtype.str
        planes = np.ascontiguousarray(array)[..., None].view(np.uint8)
        arrays[name] = np.ascontiguousarray(np.moveaxis(planes, -1, 0))
    settings = {**content.settings, "types": types, "scales": scales}
    return content._replace(settings=settings, arrays=arrays)


def unpacked(content: Content) -> Content:
    """Return the content of an ordinary file, given what was read, which is checked.

    Raises
    ------
    ValueError
        If this is the content of a small file, and damaged.
    """
    if "types" not in content.settings:
        return content
    types, scales = content.setting("types", dict), content.setting("scales", dict)
    arrays = {}
    for name, planes in content.arrays.items():
        dtype, scale = types.get(name), scales.get(name, 1.0)
        is_scale = isinstance(scale, float) and 0.0 < scale < np.inf
        if not (is_scale and isinstance(dtype, str) and DTYPE.fullmatch(dtype)):
            raise ValueError(f"the type or the scale of the array {name!r} is not valid")
        if planes.dtype != np.uint8 or planes.shape[:1] != (int(dtype[2]),):
            raise ValueError(f"the array {name!r} does not have the type {dtype}")
        content.budget.take(planes.nbytes * (1 + 8 * (name in scales)))
        array = np.ascontiguousarray(np.moveaxis(planes, 0, -1)).view(dtype)[..., 0]
        arrays[name] = array * scale if name in scales else array
    made = content._replace(arrays=arrays)
    names = [name.removesuffix(".blob") for name in arrays if name.endswith(".blob")]
    strings = {name: strings_of(made, name) for name in names}
    for name, table in strings.items():
        arrays |= string_arrays(name, table)
    if {"words", *FEATURES} <= strings.keys():
        arrays |= _of_words(made, strings)
    settings = {k: v for k, v in content.settings.items() if k not in ("types", "scales")}
    return made._replace(settings=settings)


def strings_of(content: Content, name: str) -> list[str]:
    """Return the strings of a table."""
    blob = content.array(f"{name}.blob", "B", None)
    starts = content.pointers(f"{name}.starts", None, len(blob)).tolist()
    content.budget.take(OF_STRING * len(starts))
    data, found = blob.tobytes(), []
    for start, stop in pairwise(starts):
        encoding = ENCODINGS.get(data[start] if start < stop else 0)
        if encoding is None:
            raise ValueError(f"the array '{name}.blob' is damaged")
        found.append(data[start + 1 : stop].decode(encoding, "surrogatepass"))
    return found


def _of_words(content: Content, strings: Mapping[str, list[str]]) -> dict[str, np.ndarray]:
    """Look up the spelling of known words."""
    words, sizes = strings["words"], [len(strings[name]) for name in FEATURES]
    content.budget.take(8 * len(FEATURES) * len(words))
    lower, known = marked(words), []
    for name, feature in zip(FEATURES, SPELLING, strict=True):
        number = {symbol: i for i, symbol in enumerate(strings[name])}
        known.append([number.get(symbol, -2) for symbol in feature(words, lower)])
    ids = np.array(known, dtype=np.int32).T
    rows = np.append(content.array("symbol_rows", "i", sum(sizes)), np.int32(-1))
    places = np.where(ids < 0, -1, ids + np.cumsum([0, *sizes[:-1]]))
    chosen = content.indices("context_features", "i", None, stop=len(FEATURES))
    return {"spelling_rows": rows[places], "context_ids": ids[:, chosen]}


def without_weak(content: Content, share: float) -> Content:
    """Leave out a share of the weights that may be left out: those that change scores least.

    Of counted taggers they are the weights of two and three symbols.
    """
    arrays = dict(content.arrays)
    if "coef" in arrays:
        (kept,) = _kept([np.abs(arrays["coef"]).ravel()], share)
        arrays["coef"] = arrays["coef"] * kept.reshape(arrays["coef"].shape)
    elif "coef.data" in arrays:
        (kept,) = _kept([np.abs(arrays["coef.data"])], share)
        arrays["coef.indptr"] = np.append(0, np.cumsum(kept))[arrays["coef.indptr"]]
        arrays |= {name: arrays[name][kept] for name in ("coef.columns", "coef.data")}
    else:
        starts = {name: _starts_of_rows(arrays, name) for name in ("state", "edge")}
        masks = _kept(_changes(content, starts), share)
        for (name, of_rows), kept in zip(starts.items(), masks, strict=True):
            parts = [arrays[f"{name}.{part}"][kept] for part in ("columns", "data")]
            arrays |= pack_rows(name, np.append(0, np.cumsum(kept))[of_rows], *parts)
            if f"{name}.counts" in arrays:
                arrays[f"{name}.counts"] = arrays[f"{name}.counts"][kept]
    return content._replace(arrays=arrays)


def _kept(changes: list[np.ndarray], share: float) -> list[np.ndarray]:
    """Tell which weights stay, given how far they change scores; inf for those that must stay."""
    every = np.concatenate(changes)
    kept = np.ones(len(every), dtype=bool)
    kept[np.argsort(every, kind="stable")[: round(share * np.isfinite(every).sum())]] = False
    return np.split(kept, np.cumsum([len(part) for part in changes])[:-1])


def _changes(content: Content, starts: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return how far the rows of two and three symbols change scores, by entry; inf for others."""
    arrays, exponents = content.arrays, content.array("exponents", "d", None, None)
    n_slots, of_edges = exponents.shape[1], content.setting("edge_exponent", float)
    factors = {name: np.full(len(rows) - 1, np.inf) for name, rows in starts.items()}
    for g, member, _, slot, first in arrays["pair_slots"].tolist():
        stop = first + np.unpackbits(arrays[f"pairs{g}.bits"][member].view(np.uint8)).sum()
        if slot < n_slots:
            factors["state"][first:stop] = np.abs(exponents[:, slot]).max()
        else:
            factors["edge"][first:stop] = of_edges
    changes = []
    for name, rows in starts.items():
        largest, lengths = np.zeros(len(rows) - 1), np.diff(rows)
        filled = lengths > 0
        largest[filled] = np.maximum.reduceat(np.abs(arrays[f"{name}.data"]), rows[:-1][filled])
        changes.append(np.repeat(factors[name] * np.maximum(largest, TINY), lengths))
    return changes


def _starts_of_rows(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return where packed rows begin, and where the last one ends."""
    base, offset = arrays[f"{name}.base"], arrays[f"{name}.offset"]
    shift = next(s for s in range(LARGEST_SHIFT + 1) if (len(offset) - 1 >> s) + 1 == len(base))
    return base[np.arange(len(offset)) >> shift] + offset
