"""Changes of bytes and text, as by accident or by an attacker."""

from collections.abc import Sequence
from random import Random

__all__ = ["mutated_bytes"]

INTERESTING = [
    *(b"\0", b"\xff", b"\x7f", b"\x80", b"\xff\xff\xff\xff", b"0", b"-1", b"2147483648", b"9" * 30),
    *(b"nan", b"inf", b"-inf", b"1e309", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\xef\xbb\xbf"),
    *(b"\r", b"\n", b"\r\n", b"\n\n", b"\t", b" ", b"%", b"[", b"]", b'"', b"\\", b"*", b"?", b"@"),
    *(b"{", b"}", b" --> ", b": ", b"\x1f\x8b", b"#"),
]
N_CHANGES = [1, 1, 1, 2, 3, 5, 10]


def mutated_bytes(rng: Random, data: bytes, dictionary: Sequence[bytes] = ()) -> bytes:
    """Bytes with some changes.

    Parameters
    ----------
    rng : Random
    data : bytes
    dictionary : sequence of bytes
        Strings with a meaning in this format, inserted in addition to generally interesting ones.
    """
    changed = bytearray(data)
    for _ in range(rng.choice(N_CHANGES)):
        rng.choice(CHANGES)(rng, changed, dictionary)
    return bytes(changed)


def _at(rng: Random, data: bytearray) -> int:
    return rng.randrange(len(data) + 1)


def _string(rng: Random, dictionary: Sequence[bytes]) -> bytes:
    return rng.choice(dictionary if dictionary and rng.random() < 0.5 else INTERESTING)


def _flip_bit(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set_byte(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _delete(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    start = _at(rng, data)
    del data[start : start + rng.choice([1, 1, 2, 8, 100])]


def _insert(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    start = _at(rng, data)
    data[start:start] = _string(rng, dictionary)


def _overwrite(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    start, string = _at(rng, data), _string(rng, dictionary)
    data[start : start + len(string)] = string


def _repeat(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    start, target = _at(rng, data), _at(rng, data)
    data[target:target] = data[start : start + rng.randrange(1, 60)] * rng.choice([1, 1, 1, 20])


def _swap(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    first, second = sorted((_at(rng, data), _at(rng, data)))
    width = min(rng.randrange(1, 30), second - first, len(data) - second)
    one, other = data[first : first + width], data[second : second + width]
    data[first : first + width], data[second : second + width] = other, one


def _truncate(rng: Random, data: bytearray, dictionary: Sequence[bytes]) -> None:
    if rng.random() < 0.3:
        del data[_at(rng, data) :]


CHANGES = [_flip_bit, _set_byte, _delete, _insert, _overwrite, _repeat, _swap, _truncate]
