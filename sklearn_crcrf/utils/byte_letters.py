"""Texts whose letters are bytes, also of bytes that are no text."""

# Bytes outside ASCII, as letters of a private range that are in no class and have no lower case,
# and as Python decodes bytes that are no text.
_PRIVATE = {0xDC00 + byte: 0xE000 + byte for byte in range(128, 256)}
_SURROGATE = {private: surrogate for surrogate, private in _PRIVATE.items()}


def bytes_of(text: str) -> bytes:
    """Return the bytes of a text in UTF-8; letters of the private range are one byte each."""
    return text.translate(_SURROGATE).encode("utf-8", "surrogateescape")


def text_of(data: bytes) -> str:
    """Return the inverse of :func:`bytes_of`."""
    return data.decode("utf-8", "surrogateescape").translate(_PRIVATE)


def as_letters(text: str) -> str:
    """Return a text with a letter for each byte in UTF-8."""
    if text.isascii():
        return text
    return bytes_of(text).decode("ascii", "surrogateescape").translate(_PRIVATE)
