"""Words as noisy images of their letters: chains of dense binary rows, by several methods."""

import argparse
import sys
from collections.abc import Iterator, Sequence

from _common import begin, cpu_seconds  # before numpy

# isort: split
import numpy as np
from sklearn.linear_model import LogisticRegression

from sklearn_crcrf import CRF, MaxMarginCRF, SequenceArray, StructuredPerceptron
from sklearn_crcrf.metrics import sequence_accuracy, token_accuracy

HEIGHT, WIDTH = 16, 8
SIGMA = 0.3
WORDS = """
about after again also always among animal another answer around because become before began being
below between both bring build call carry change children city close come could country cross dark
different distance does done door down during each earth eight enough even every example eyes face
family farm father feet field fire first five follow food form found four friend from gave girl
give good great group grow half hand hard have head hear help here high home hour house hundred
idea important indian inside island just keep kind king knew know land large last late laugh learn
leave left letter life light like line list listen little live long look made make many mark might
mile mountain move much music must name near never next night north nothing notice number often
once only open order other over page paper part people picture piece place plant play point
problem quick quite river rock room round said same school science second seem sentence several
shall should show side simple since sing sleep small something sometimes song soon sound south
spell stand start state still stop story street study such talk tell than their them then there
these thing think those thought three through time together told took town travel tree turn under
until very voice walk want watch water well went were west what wheel when where which while white
whole will wind without wood word work world would write year young your
"""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("letters.py", description=__doc__)
    parser.add_argument(
        "--words",
        type=int,
        default=2000,
        help="number of training words; half as many for the test",
    )
    parser.add_argument("--noise", type=float, default=0.25, help="fraction of wrong pixels")
    args = begin(parser, argv)
    train, test = (
        make_words(n, args.noise, seed) for seed, n in enumerate((2 * args.words, args.words))
    )
    columns = ["method", "CPU s", "letters", "words", "letters above independent"]
    args.report.table("Letters of words, in per cent", columns, rows(train, test))


def rows(train: tuple, test: tuple) -> Iterator[list[str]]:
    """Train and test each method."""
    (X, y), (X_test, y_test) = train, test
    alone = LogisticRegression(C=1.0, max_iter=1000)
    seconds, _ = cpu_seconds(lambda: alone.fit(X.data, y.data))
    predicted = SequenceArray(alone.predict(X_test.data), X_test.offsets)
    base = 100 * token_accuracy(y_test, predicted)
    yield _row("independent logistic regression", seconds, y_test, predicted, base)
    for title, model in {
        "CRF, log loss": CRF(sigma=SIGMA),
        "CRF, max margin": CRF("max_margin", SIGMA, tol=1e-3),
        "MaxMarginCRF": MaxMarginCRF(C=SIGMA**2),
        "StructuredPerceptron": StructuredPerceptron(random_state=0),
    }.items():
        seconds, _ = cpu_seconds(lambda model=model: model.fit(X, y))
        yield _row(title, seconds, y_test, model.predict(X_test), base)


def _row(title: str, seconds: float, y, predicted, base: float) -> list[str]:
    letters, words = 100 * token_accuracy(y, predicted), 100 * sequence_accuracy(y, predicted)
    return [title, f"{seconds:.1f}", f"{letters:.2f}", f"{words:.2f}", f"{letters - base:+.2f}"]


def make_words(n: int, noise: float, seed: int) -> tuple[SequenceArray, SequenceArray]:
    """Images of the letters of random words, with some pixels wrong.

    Returns
    -------
    X : SequenceArray of rows of 128 numbers, 0 or 1
    y : SequenceArray of letters
    """
    rng = np.random.default_rng(seed)
    words = rng.choice(WORDS.split(), size=n)
    letters = np.array([letter for word in words for letter in word])
    images = render_letters()[np.array([ord(letter) - ord("a") for letter in letters])]
    wrong = rng.random(images.shape) < noise
    pixels = (images ^ wrong).reshape(len(images), -1).astype(float)
    lengths = [len(word) for word in words]
    return SequenceArray.from_lengths(pixels, lengths), SequenceArray.from_lengths(letters, lengths)


def render_letters() -> np.ndarray:
    """The 26 lower-case letters as bool pictures of HEIGHT x WIDTH."""
    try:
        from matplotlib.font_manager import findfont
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        sys.exit("Letters are drawn by Pillow in a font of matplotlib: pip install matplotlib")
    font = ImageFont.truetype(findfont("DejaVu Sans Mono"), 12)

    def render(letter: str) -> np.ndarray:
        image = Image.new("L", (WIDTH, HEIGHT))
        ImageDraw.Draw(image).text((0.5, 0), letter, fill=255, font=font)
        return np.asarray(image) > 100

    return np.array([render(chr(ord("a") + k)) for k in range(26)])


if __name__ == "__main__":
    main()
