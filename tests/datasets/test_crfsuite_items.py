import gzip
import io

import pytest

from sklearn_crcrf.datasets import read_crfsuite_items


def test_names_values_and_what_is_escaped():
    text = "B\ta\\:b:2\tc\\\\:-0.5\tc\\\\\n\n\nO\t\tx\nO\n"
    X, y = read_crfsuite_items(io.StringIO(text))
    assert X == [[{"a:b": 2.0, "c\\": 0.5}], [{"x": 1.0}, {}]]
    assert y == [["B"], ["O", "O"]]
    assert read_crfsuite_items(io.BytesIO(gzip.compress(text.encode()))) == (X, y)
    assert read_crfsuite_items(io.StringIO("")) == ([], [])
    assert read_crfsuite_items(io.BytesIO("é\tü\r\n".encode("latin-1")), encoding="latin-1") == (
        [[{"ü": 1.0}]],
        [["é"]],
    )


@pytest.mark.parametrize(
    "line",
    [
        "\ta",
        "\x0c",
        "\u00a0\ta",
        "O\ta:b",
        "O\ta:nan",
        "O\ta:1:2",
        "O\ta\\",
        "O\ta:1_0",
        "O\ta:\u0661",
    ],
)
def test_the_line_of_an_error_is_named(line):
    with pytest.raises(ValueError, match=r"^line 3"):
        read_crfsuite_items(io.StringIO(f"O\ta\n\n{line}\n"))
