"""The attributes of tokens are looked up by their whole names, of any length and kind."""

from sklearn_crcrf._kernels.text.strings import FrozenStrings, frozen_arrays
from sklearn_crcrf._kernels.text.tokens import AttributeReader


class Word(str):
    """A string whose characters lie outside of its object."""


def test_names_of_any_length_and_kind():
    parts = [c * n for c in "aé日😀" for n in (0, 1, 3, 4, 7, 8, 15, 16, 17, 40)]
    items = [(key, symbol) for key in parts for symbol in parts]
    names = [*{f"{outer}{k}:{s}": None for outer in ("", "o:") for k, s in items}]
    reader = AttributeReader(FrozenStrings(*frozen_arrays(names)), ":", True, False)
    for kind in (str, Word):
        tokens = [{kind(k): kind(s)} for k, s in items] + [{"o": {kind(k): s}} for k, s in items]
        wanted = [f"{outer}{k}:{s}" for outer in ("", "o:") for k, s in items]
        for given in (tokens, [[kind(name)] for name in wanted]):
            found = [names[i] for [(i, _)] in reader.attributes(given)]
            assert found == wanted
    assert reader.attributes([["a:b", "a:a"], {"a": "a" * 14}]) == [
        [(-1, 1.0), (names.index("a:a"), 1.0)],
        [(-1, 1.0)],
    ]
