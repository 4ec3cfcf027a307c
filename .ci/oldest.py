"""Print the oldest version of each package that an installation with the tests' extra allows.

python .ci/oldest.py pyproject.toml
"""

import re
import sys
import tomllib
from pathlib import Path


def main() -> None:
    project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["test"]
    print(*(re.sub(">=", "==", requirement) for requirement in needed), sep="\n")


if __name__ == "__main__":
    main()
