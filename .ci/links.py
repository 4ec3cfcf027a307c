"""Check every link of the built site that leads to the site itself, without a network.

    python .ci/links.py html

Files and anchors must be there. Pages load no script, style or picture from elsewhere.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors, self.links, self.loaded = {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values.get("id", ""), values.get("name", "")}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(values["href"])


def problems(site: Path) -> Iterator[str]:
    """What is missing on the pages, or comes from elsewhere."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    for path, page in pages.items():
        if {"_modules", "_static"} & set(path.parts):
            continue  # sources, and templates of the theme
        where = path.relative_to(site.resolve())
        yield from (f"{where} loads {url}" for url in page.loaded if urlsplit(url).netloc)
        for url in page.links + page.loaded:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{where}: {url} is missing"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where}: {url} has no such anchor"


def main() -> int:
    found = sorted(problems(Path(sys.argv[1])))
    print("\n".join(found) or "All links within the site lead somewhere.")
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
