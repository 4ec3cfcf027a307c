"""Finding, downloading and verifying corpora."""

import gzip
import hashlib
import io
import os
import re
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

from sklearn.datasets import fetch_file, get_data_home

from ..utils.replacing import replacing
from ..utils.unpacking import read_text
from ._conll_writer import write_conll
from ._readers import read_conll

BASE_URL = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora"
DATA_VARIABLE = "SKLEARN_CRCRF_DATA"


class Part(NamedTuple):
    """One file of a corpus: its name here, its members in the archive, its checksum."""

    filename: str
    members: str
    sha256: str


@dataclass(frozen=True)
class CorpusSource:
    """What there is in a corpus, and how to parse its original form."""

    name: str
    description: str
    columns: tuple[str, ...]
    parts: dict[str, Part]
    parse: Callable[[str], tuple[list, list | None]]
    repair: Callable[[str], str] = str


def find_part(
    corpus: CorpusSource,
    part: Part,
    data_home: Any,
    download_if_missing: bool,
    n_retries: int,
    delay: float,
) -> tuple[str, Path]:
    """Find the verified text of one part, in columns, and the file that it was read from."""
    own_folder = os.environ.get(DATA_VARIABLE)
    path = Path(own_folder or "", part.filename)
    if not own_folder or not path.exists():
        cache = Path(get_data_home(data_home)) / "sklearn_crcrf"
        path = cache / part.filename
        if not path.exists():
            if not download_if_missing:
                raise OSError(
                    f"{part.filename} is neither in {cache} nor in a folder named by "
                    f"{DATA_VARIABLE}, and `download_if_missing` is False"
                )
            _download(corpus, cache, n_retries=n_retries, delay=delay)
    try:
        text = corpus.repair(read_text(path))
    except ValueError as error:
        raise OSError(f"{path} is damaged; delete it to fetch it again: {error}") from error
    _verify(text, part, source=path)
    return text, path


def _download(corpus: CorpusSource, cache: Path, **retries: Any) -> None:
    """Fetch the archive of a corpus and cache all its parts as compressed text in columns."""
    cache.mkdir(parents=True, exist_ok=True)
    url = f"{BASE_URL}/{corpus.name}.zip"
    with tempfile.TemporaryDirectory() as folder:
        archive_path = fetch_file(url, folder=folder, **retries)
        with ZipFile(archive_path) as archive:
            texts = {p.filename: _convert(corpus, p, archive) for p in corpus.parts.values()}
    for part in corpus.parts.values():
        _verify(texts[part.filename], part, source=url)
    for filename, text in texts.items():
        with replacing(cache / filename) as file:
            file.write(gzip.compress(text.encode("utf-8"), mtime=0))


def _convert(corpus: CorpusSource, part: Part, archive: ZipFile) -> str:
    members = sorted(name for name in archive.namelist() if re.fullmatch(part.members, name))
    original = "\n".join(archive.read(name).decode("utf-8") for name in members)
    text = io.StringIO()
    write_conll(text, *corpus.parse(original), columns=corpus.columns)
    return text.getvalue()


def _verify(text: str, part: Part, *, source: Any) -> None:
    found = hashlib.sha256(text.encode("utf-8")).hexdigest()
    if found != part.sha256:
        raise OSError(
            f"{part.filename} from {source} has a text with the SHA256 checksum {found}, which "
            f"differs from the expected {part.sha256}; the file may be damaged: delete it to "
            "fetch it again"
        )


def _parse_columns(text: str) -> tuple[list, list | None]:
    """Read the columns word, part of speech and label."""
    return read_conll(io.StringIO(text), ("word", "pos", "label"))


def _parse_brown(text: str) -> tuple[list, list]:
    """Read one sentence per line; a tag follows the last slash of each token."""
    sentences = [line.split() for line in text.splitlines() if line.strip()]
    X = [[token.rpartition("/")[0] for token in sentence] for sentence in sentences]
    return X, [[token.rpartition("/")[2] for token in sentence] for sentence in sentences]


def undo_latin1(text: str) -> str:
    """Repair a text whose UTF-8 was once read as Latin-1; return any other text unchanged.

    A Latin-1 reader takes the second byte of à and Å for white space. At the end of a word this
    byte is lost; within a word, the word is split there.
    """
    text = text.replace("Ã\trst\t", "Ã\x85rst\t")  # the only word with Å; all others have à
    within, at_end = r"\t(?=[^\t\n]*\t[^\t\n]*\t[^\t\n]*$)", r"(?=\t)"
    text = re.sub(f"Ã(?:{within}|{at_end})", "Ã\xa0", text, flags=re.MULTILINE)
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _source(name: str, *functions: Any) -> CorpusSource:
    """Find what the file of corpora says of one of them."""
    path = Path(__file__).with_name("corpora.toml")
    about = tomllib.loads(path.read_text(encoding="utf-8"))[name]
    parts = {part: Part(**given) for part, given in about["parts"].items()}
    return CorpusSource(name, about["description"], tuple(about["columns"]), parts, *functions)


CONLL2000 = _source("conll2000", _parse_columns)
CONLL2002 = _source("conll2002", _parse_columns, undo_latin1)
BROWN = _source("brown", _parse_brown)
