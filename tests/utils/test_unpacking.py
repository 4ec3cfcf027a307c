"""What files hold, against the gzip module of Python."""

import gzip
import io
import random
import zlib

import pytest

from sklearn_crcrf.utils.unpacking import read_text, unpack

TEXT = "".join(f"word{i * 7919 % 1000} N{i % 7}\n" for i in range(5000))


def packed(text=TEXT):
    return gzip.compress(text.encode(), mtime=0)


def sources():
    """Files that hold the text, packed or not, some of which unpack or decode it themselves."""
    yield io.BytesIO(packed())
    yield io.BytesIO(TEXT.encode())
    yield io.StringIO(TEXT)
    with gzip.GzipFile(fileobj=io.BytesIO(packed())) as file:
        yield file
    with gzip.open(io.BytesIO(packed()), "rt", encoding="utf-8") as file:
        yield file


@pytest.mark.parametrize("max_bytes", [None, len(TEXT), 2**32])
def test_text_is_what_was_packed(max_bytes):
    for source in sources():
        assert read_text(source, max_bytes=max_bytes) == TEXT


def test_files_one_after_the_other_and_what_fills_the_last_block():
    data = packed("a\n") + packed("b\n") + b"\0" * 100
    assert unpack(data, None) == gzip.decompress(data) == b"a\nb\n"


@pytest.mark.parametrize("max_bytes", [0, 10, len(TEXT) - 1])
def test_more_than_max_bytes_is_refused(max_bytes):
    for source in sources():
        with pytest.raises(ValueError, match=f"more than max_bytes={max_bytes} bytes"):
            read_text(source, max_bytes=max_bytes)


def test_little_is_unpacked_of_what_is_too_large():
    """A tenth of it is more than there is memory for."""
    tracemalloc = pytest.importorskip("tracemalloc")
    data = packed("0" * 100_000_000)
    tracemalloc.start()
    with pytest.raises(ValueError, match="max_bytes"):
        read_text(io.BytesIO(data), max_bytes=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("max_bytes", [-1, 1.5, "all"])
def test_max_bytes_is_checked(max_bytes):
    with pytest.raises((ValueError, TypeError), match="max_bytes"):
        read_text(io.StringIO(), max_bytes=max_bytes)


def test_the_line_of_damage_is_the_one_after_those_that_can_be_unpacked():
    data = packed()
    for end in range(2, len(data) - 1, 97):
        stream = zlib.decompressobj(wbits=31)
        n_lines = stream.decompress(data[:end]).count(b"\n")
        with pytest.raises(
            ValueError, match=rf"^line {n_lines + 1}: .* damaged: Compressed file ended"
        ):
            read_text(io.BytesIO(data[:end]))


def test_any_damage_is_a_value_error_with_the_line(tmp_path):
    rng = random.Random(0)
    failed = 0
    for trial in range(600):
        data = bytearray(packed(TEXT[: rng.randrange(2000)]))
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(2, len(data))] = rng.randrange(256)
        try:
            expected = gzip.decompress(bytes(data)).decode()
        except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError):
            failed += 1
            with pytest.raises(ValueError, match=r"^line \d+"):
                read_text(io.BytesIO(data))
            for mode in ("rb", "rt") if trial % 10 == 0 else ():
                path = tmp_path / f"{trial}.gz"
                path.write_bytes(data)
                options = {"encoding": "utf-8"} if mode == "rt" else {}
                expected = pytest.raises(ValueError, match=r"^line \d+")
                with gzip.open(path, mode, **options) as file, expected:
                    read_text(file)
        else:
            assert read_text(io.BytesIO(data)) == expected
    assert failed > 300


def test_the_line_is_that_of_the_text_in_its_encoding():
    data = gzip.compress(("\u0a0a\u0a0a x\n" * 3 + "y" * 300).encode("utf-16"))[:-9]
    with pytest.raises(ValueError, match="line 4: "):
        read_text(io.BytesIO(data), encoding="utf-16")


@pytest.mark.parametrize("n_before", [0, 2, 5000])
def test_what_cannot_be_decoded_names_the_line(tmp_path, n_before):
    path = tmp_path / "latin"
    path.write_bytes(b"a X\n" * n_before + "Itali\xeb Y\nb Z\n".encode("latin-1"))
    message = f"line {n_before + 1} cannot be decoded as utf-8"
    with pytest.raises(ValueError, match=message):
        read_text(path)
    with open(path, encoding="utf-8") as file, pytest.raises(ValueError, match=message):
        read_text(file)
