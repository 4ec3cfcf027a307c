"""The rooms of the package: imports go only to rooms further up in the table of CONTRIBUTING.md."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sklearn_crcrf

PACKAGE = Path(sklearn_crcrf.__file__).parent
TABLE = PACKAGE.parent / "CONTRIBUTING.md"
FILES = sorted(PACKAGE.glob("*/**/*.py"))
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if any(path.glob("*.py")))

pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="needs CONTRIBUTING.md")


def rows() -> list[str]:
    """The rooms in the order of the table."""
    table = TABLE.read_text(encoding="utf-8").partition("| room | what |")[2].partition("\n\n")[0]
    return re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All nodes of a file's tree."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imported(path: Path) -> list[tuple[str, ...]]:
    """What a file imports from the package, also inside of functions: room, module, name."""
    return list(_imported(path))


def _imported(path: Path) -> Iterator[tuple[str, ...]]:
    here = PACKAGE.name, *path.relative_to(PACKAGE).parent.parts
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            start = here[: len(here) + 1 - node.level] if node.level else ()
            module = ".".join(filter(None, [*start, node.module]))
            names = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for package, *parts in (name.split(".") for name in names):
            if package == PACKAGE.name and parts:
                yield tuple(parts)


def test_the_table_has_every_room():
    assert sorted(rows()) == ROOMS


def test_nothing_else_lies_in_the_root():
    files = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert files == {"__init__.py", "__init__.pyi", "__main__.py", "_version.py", "py.typed"}


def test_imports_go_up_in_the_table():
    order = rows()
    of_the_applications = set(sklearn_crcrf.__all__)
    wrong = []
    for path in FILES:
        room = path.relative_to(PACKAGE).parts[0]
        allowed = {*order[: order.index(room) + 1], "_version"}
        allowed |= of_the_applications if room == "apps" else set()
        wrong += [(path, name) for name, *_ in imported(path) if name not in allowed]
    assert not wrong


def test_rooms_keep_their_private_names():
    wrong = []
    for path in FILES:
        room = path.relative_to(PACKAGE).parts[0]
        for other, *names in imported(path):
            private = any(name.startswith("_") and name != "__version__" for name in names)
            if private and other not in (room, "_kernels"):
                wrong.append((path, other, *names))
    assert not wrong


@cache
def file_of(parts: tuple[str, ...]) -> Path:
    """Where a name is defined, or the face of the package that has it."""
    for n in range(len(parts), 0, -1):
        path = PACKAGE.joinpath(*parts[:n])
        if path.with_suffix(".py").is_file():
            return path.with_suffix(".py")
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
    return PACKAGE / "__init__.py"


def test_no_files_import_each_other():
    """Nor do they in type hints alone."""
    above = {path: {file_of(parts) for parts in imported(path)} - {path} for path in FILES}
    TopologicalSorter(above).prepare()  # raises CycleError, which has the files


def room_of(path: Path) -> str:
    """The room of a file; nothing for files of the root."""
    room, *inside = path.relative_to(PACKAGE).parts
    return room if inside else ""


def arrows(place: Callable[[Path], str]) -> dict[str, set[str]]:
    """Which places import from which others; files without a place do not count."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        if here := place(path):
            others = {place(file_of(parts)) for parts in imported(path)} - {here, ""}
            found.setdefault(here, set()).update(others)
    return found


def floors(above: dict[str, set[str]]) -> int:
    """The length of the longest way down."""
    height: dict[str, int] = {}
    for place in TopologicalSorter(above).static_order():
        height[place] = 1 + max((height[other] for other in above[place]), default=0)
    return max(height.values())


def test_the_house_is_small():
    rooms = arrows(room_of)
    assert len(rooms) <= 25
    assert sum(map(len, rooms.values())) <= 170
    assert floors(rooms) <= 10


@pytest.mark.parametrize("room", ROOMS)
def test_folders_do_not_import_each_other(room):
    """A file beside the folders of a room counts as a folder."""

    def place(path: Path) -> str:
        return path.relative_to(PACKAGE / room).parts[0] if room_of(path) == room else ""

    floors(arrows(place))


STRUCTURES = {"Chain", "Graph", "HigherOrderChain"}


def names_a_structure(node: ast.AST) -> bool:
    """Whether an annotation, or a test of a type, names one kind of structure."""
    if isinstance(node, ast.arg | ast.AnnAssign):
        types = [node.annotation]
    elif isinstance(node, ast.FunctionDef):
        types = [node.returns]
    elif isinstance(node, ast.Compare):
        types = node.comparators
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
        "isinstance",
        "issubclass",
    ):
        types = node.args
    else:
        return False
    named = (inner for part in types if part is not None for inner in ast.walk(part))
    return any(isinstance(inner, ast.Name) and inner.id in STRUCTURES for inner in named)


def test_every_structure_is_welcome():
    """Outside of the structures nothing depends on which of them it has."""
    wrong = [
        (path, node.lineno)
        for path in FILES
        if path.relative_to(PACKAGE).parts[0] != "structures"
        for node in nodes_of(path)
        if names_a_structure(node)
    ]
    assert not wrong
