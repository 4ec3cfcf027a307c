import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.serving.crfsuite.quarks import Quarks, hash_keys, write_quarks

strings = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def test_hashes_are_as_published_with_the_function():
    text, short = b"Four score and seven years ago", b"a\0"
    assert hash_keys([text]).tolist() == [0x17770551]
    assert hash_keys([short, text]).tolist() == [*hash_keys([short]), 0x17770551]
    assert len(hash_keys([])) == 0


@given(st.lists(strings, unique=True, max_size=30))
def test_strings_come_back(names):
    data = write_quarks(names)
    assert Quarks(data + b"more", len(names), "names").strings() == names


def looked_up(data, name):
    """The number of a string, which CRFsuite finds by its hash; None if it is not there."""
    key = name.encode() + b"\0"
    (hashed,) = hash_keys([key]).tolist()
    table, n_places = np.frombuffer(data, "<u4", 2, 24 + 8 * (hashed % 256)).tolist()
    place = (hashed >> 8) % n_places
    while True:
        found, link = np.frombuffer(data, "<u4", 2, table + 8 * place).tolist()
        if link == 0:
            return None
        if found == hashed and data[link + 8 : link + 8 + len(key)] == key:
            return int.from_bytes(data[link : link + 4], "little")
        place = (place + 1) % n_places


def test_strings_are_found_by_their_hashes():
    names = [f"w{i}" for i in range(4000)]
    data = write_quarks(names)
    assert [looked_up(data, name) for name in names] == [*range(4000)]


def test_null_characters_end_strings():
    with pytest.raises(ValueError, match=r"cannot hold the null character in 'a.x00b'"):
        write_quarks(["a", "a\0b"])


def test_overlapping_strings_are_not_read():
    data = bytearray(write_quarks(["a" * 200, "b"]))
    # The first string would reach over the second.
    data[2072 + 4 : 2072 + 8] = (201 + 8 + 2).to_bytes(4, "little")
    with pytest.raises(ValueError, match="the names of the model are damaged"):
        Quarks(bytes(data), 2, "names").strings()
