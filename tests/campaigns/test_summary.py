"""Reports of several runs add up to one table."""

import json

import pytest


@pytest.fixture
def summary(load):
    return load("summary")


def report(campaign="conll", seed=0, start=0, end=10, commit="abc", **others):
    outcomes = {"answered": {"read": end - start - 2}, "refused": {"ValueError": 1, "OSError": 1}}
    outcomes |= {"wrong": {}, "crashed": {}, "hung": {}}
    return {
        "campaign": campaign,
        "commit": commit,
        "seed": seed,
        "start": start,
        "end": end,
        "seconds": 1800,
        "sanitized": False,
        "instructions": None,
        "outcomes": outcomes,
        "slowest": [0.25 + seed, 3],
        "measures": {},
        **others,
    }


def rows(table):
    return [line.strip("| ").split(" | ") for line in table.splitlines()]


def test_runs_add_up(summary):
    crashed = {"answered": {}, "refused": {}, "wrong": {}, "crashed": {"SIGSEGV": 2}, "hung": {}}
    reports = [
        report(),
        report(seed=1, end=2000, commit="def"),
        report(start=10, end=20),
        report("dumps", outcomes=crashed),
        report(sanitized=True),
        report(instructions="baseline"),
    ]
    columns, _, *found = rows(summary.summarised(reports))
    assert columns == summary.COLUMNS
    assert found == [
        ["conll", "2,020", "2,014", "6", "0", "0", "0", "1.25 s", "1.50", "abc, def"],
        ["dumps", "2", "0", "0", "0", "2", "0", "0.25 s", "0.50", "abc"],
        ["conll, sanitized", "10", "8", "2", "0", "0", "0", "0.25 s", "0.50", "abc"],
        ["conll, baseline", "10", "8", "2", "0", "0", "0", "0.25 s", "0.50", "abc"],
    ]


def test_figures_add_up(summary):
    reports = [
        report("interrupts", seed=seed, measures={"seconds": values})
        for seed, values in enumerate([[0.1, 0.2], [0.6]])
    ]
    table = summary.summarised(reports).partition("\n\n")[2]
    assert rows(table)[2:] == [["interrupts", "seconds", "3", "0.2", "0.6"]]


def test_no_input_counts_twice(summary):
    with pytest.raises(ValueError, match="conll: two reports have seed 0 and number 5"):
        summary.summarised([report(), report(start=5, end=15)])


def test_the_table_is_written_into_the_page(summary, tmp_path, monkeypatch, capsys):
    page, file = tmp_path / "README.md", tmp_path / "reports.json"
    page.write_text(f"before\n\n{summary.BEGIN}old{summary.END}\nafter\n")
    file.write_text(json.dumps([report()]))
    monkeypatch.setattr(summary, "README", page)
    for _ in range(2):
        assert summary.main([str(file)]) == 0
        text = page.read_text()
        table = summary.summarised([report()])
        assert text == f"before\n\n{summary.BEGIN}\n{table}\n{summary.END}\nafter\n"
    summary.main(["--print", str(file)])
    assert capsys.readouterr().out.strip() == table.strip()
    with pytest.raises(SystemExit):
        summary.main([str(file), str(file)])


def test_campaigns_without_a_report_keep_their_rows(summary):
    measures = {"seconds": [0.25]}
    before = summary.summarised([report(), report("saves", measures=measures), report("dumps")])
    after = summary.summarised([report("saves", end=20), report("kills")], before)
    found = {row[0]: row[1] for row in rows(after)[2:]}
    assert found == {"conll": "10", "saves": "20", "dumps": "10", "kills": "10"}
    assert summary.summarised([report("dumps")], before) == before
    assert summary.summarised([], before) == before


def test_the_page_has_a_place_for_the_table(summary):
    text = summary.README.read_text()
    assert text.index(summary.BEGIN) < text.index(summary.END)
