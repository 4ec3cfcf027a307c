import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.estimators.crfsuite.quarks import hash_keys, read_quarks, write_quarks

strings = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


def test_hashes_are_as_published_with_the_function():
    text, short = b"Four score and seven years ago", b"a\0"
    assert hash_keys([text]).tolist() == [0x17770551]
    assert hash_keys([short, text]).tolist() == [*hash_keys([short]), 0x17770551]
    assert len(hash_keys([])) == 0


@given(st.lists(strings, unique=True, max_size=30))
def test_strings_come_back(names):
    data = write_quarks(names)
    assert read_quarks(data + b"more", len(names), "names") == names


def test_null_characters_end_strings():
    with pytest.raises(ValueError, match=r"cannot hold the null character in 'a.x00b'"):
        write_quarks(["a", "a\0b"])


def test_overlapping_strings_are_not_read():
    data = bytearray(write_quarks(["a" * 200, "b"]))
    # The first string would reach over the second.
    data[2072 + 4 : 2072 + 8] = (201 + 8 + 2).to_bytes(4, "little")
    with pytest.raises(ValueError, match="the names of the model are damaged"):
        read_quarks(bytes(data), 2, "names")
