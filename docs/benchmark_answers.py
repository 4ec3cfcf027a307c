"""What the pages of the benchmarks answer, computed from their tables.

Each function is called what its page is called, and returns a sentence; ``CHARTS`` says which
column is drawn.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

Row = dict[str, str]
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")


def read_page(path: Path) -> dict[str, list[Row]]:
    """The tables of a page by title; each row has its cells by column."""
    tables = {}
    page = path.read_text(encoding="utf-8")
    table = r"^(.+)\n-+\n\n\.\. csv-table::\n   :header-rows: 1\n\n((?:   .+\n)+)"
    for title, lines in re.findall(table, page, re.MULTILINE):
        rows = csv.DictReader(line.strip() for line in lines.splitlines())
        tables[unescaped(title)] = [{k: unescaped(v) for k, v in row.items()} for row in rows]
    return tables


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def number(cell: str) -> float:
    """The number that a cell begins with."""
    return float(NUMBER.match(cell)[0].replace(",", ""))


class Tables:
    """The tables of a page, by the beginnings of their titles and rows."""

    def __init__(self, tables: dict[str, list[Row]]):
        self._tables = tables

    def __call__(self, title: str, *beginnings: str) -> list[Row]:
        """Rows of the first table so called, whose first cell begins like one of these."""
        rows = next(rows for name, rows in self._tables.items() if name.startswith(title))
        return [row for row in rows if next(iter(row.values())).startswith(beginnings or "")]

    def row(self, title: str, cells: str) -> Row:
        """The only row that begins with these cells, which bars divide."""
        given = cells.split(" | ")
        (row,) = (row for row in self(title) if list(row.values())[: len(given)] == given)
        return row

    def all(self, ending: str = "") -> Iterator[tuple[str, list[Row]]]:
        return ((name, rows) for name, rows in self._tables.items() if name.endswith(ending))


def name_of(row: Row) -> str:
    return next(iter(row.values()))


def best(rows: list[Row], column: str, least: bool = False) -> Row:
    """The row with the greatest number in a column, or with the least."""
    rows = [row for row in rows if NUMBER.match(row[column] or "")]
    return (min if least else max)(rows, key=lambda row: number(row[column]))


def numbers(rows: list[Row], column: str) -> list[float]:
    return [number(row[column]) for row in rows if NUMBER.match(row[column] or "")]


def span(values: list[float], spec: str = "g") -> str:
    """The least and the greatest value."""
    least, greatest = format(min(values), spec), format(max(values), spec)
    return least if least == greatest else f"{least} to {greatest}"


def score(rows: list[Row]) -> str:
    """F1 where there is one, else accuracy."""
    return "F1" if rows[0].get("F1") else "overall" if "overall" in rows[0] else "accuracy"


def wins(t: Tables) -> str:
    """How often which row is the best of its table."""
    tables = [rows for _, rows in t.all()]
    won = Counter(name_of(best(rows, score(rows))) for rows in tables)
    return ", ".join(f"{name} on {n} of {len(tables)}" for name, n in won.most_common())


def surely(rows: list[Row]) -> tuple[int, int]:
    """In how many rows all draws but 5 % are above zero, and below."""
    ranges = [re.findall(r"[-+]\d+\.\d+", row["95 % of draws"]) for row in rows]
    return (
        sum(float(low) > 0 for low, _ in ranges),
        sum(float(high) < 0 for _, high in ranges),
    )


def accuracy(t: Tables) -> str:
    counted, iterated = t.row("Dutch", "default mode"), best(t("Dutch", "python-crfsuite"), "F1")
    seconds = "CPU s of training"
    return (
        f"Training by counting takes {counted[seconds]} s on Dutch names, for an F1 of "
        f"{counted['F1']}; "
        f"python-crfsuite with the features of the papers {iterated[seconds]} s, for "
        f"{iterated['F1']}."
    )


def annotation(t: Tables) -> str:
    rows = t("A simulated annotator")
    shares = [
        100 * number(r["same score with"]) / number(r["sentences in text order"]) for r in rows
    ]
    return (
        f"The sentences of greatest doubt first: {span(shares, '.0f')} per cent of the sentences "
        "give the "
        "score that all of them give in the order of the text."
    )


def annotation_keys(t: Tables) -> str:
    rows = [r for r in t("Keys") if r["corpus, sentences"] == "Dutch names, 100"]
    before, after = (next(r for r in rows if r["order"] == order) for order in ("entropy", "mixed"))
    keys, arrows = "with Tab, Home, End", "keys a sentence, arrows alone"
    return (
        f"In mixed order, with Tab, Home and End, a sentence costs {after[keys]} keys, while the "
        f"model learns 100 sentences with Dutch names; in the order of greatest entropy, with "
        f"arrows alone, it costs {before[arrows]}."
    )


def annotation_service(t: Tables) -> str:
    kills, load = t("Kills")[0], t("/tag")[0]
    kept = kills["lost"] == load["errors"] == "0"
    return (
        f"{'Yes' if kept else 'No'}: of {kills['acknowledged']} acknowledged annotations "
        f"{kills['lost']} were "
        f"lost in {kills['kills']} kills, and {load['sentences/s']} sentences a second were "
        "labelled with "
        f"{load['errors']} errors."
    )


def annotators(t: Tables) -> str:
    gains = numbers(t("Dutch: F1"), "gain")
    return (
        f"A classifier of Dutch names gains {span(gains)} points of F1 if it is trained on what "
        "SequenceLabelModel finds, instead of on the majority."
    )


def boosting(t: Tables) -> str:
    crf, pairs = (t.row("English chunks", name) for name in ("CRF", "BoostedCRF, pairs"))
    seconds = "CPU s of training"
    return (
        f"On chunks, boosted pairs have an F1 of {pairs['F1']} and take "
        f"{pairs[seconds]} s, a CRF {crf['F1']} and {crf[seconds]} s."
    )


def browser(t: Tables) -> str:
    changed = "labels changed, %"
    row = best([r for r in t("Files") if number(r[changed]) < 0.3], "MB", least=True)
    in_node = t.row("The module", row["file"])
    return (
        f"{row['MB']} MB, with {row[changed]} % of the labels changed; in Node the first label is "
        "there after "
        f"{in_node['to the first label, ms']} ms, and a sentence takes "
        f"{in_node['label a sentence, ms']} ms."
    )


def calibration(t: Tables) -> str:
    rows = t("Calibration error, %")
    before, after = (sum(numbers(rows, column)) / len(rows) for column in ("before", "after"))
    return (
        "A temperature that is chosen on held-out sequences lowers the calibration error from "
        f"{before:.2f} to {after:.2f} %, on average over {len(rows)} models and corpora."
    )


def corpora(t: Tables) -> str:
    return f"The best F1, or accuracy where there are no segments: {wins(t)} corpora."


def crf(t: Tables) -> str:
    rows = [r for r in t("Compared") if re.search(r"training to .*float64$", r["what"])]
    return (
        f"On one core, it reaches the objective of python-crfsuite "
        f"{span(numbers(rows, 'better by'))} times as "
        "fast, with the same features and penalties."
    )


def criteria(t: Tables) -> str:
    rows = next(t.all())[1]
    first, log_loss = best(rows, "F1"), next(r for r in rows if r["criterion"] == "log_loss")
    times = number(first["CPU s"]) / number(log_loss["CPU s"])
    return (
        f"{first['criterion']} has the best F1, {first['F1']}, in {times:.1f} times the CPU time "
        "of the log "
        f"loss, which has {log_loss['F1']}."
    )


criteria_ner = criteria


def f1_criterion(t: Tables) -> str:
    rows = t("F1, and")
    return (
        f"The F1 of segments as criterion changes F1 by "
        f"{span(numbers(rows, 'difference'), '+.2f')} points; on "
        f"{surely(rows)[0]} of {len(rows)} corpora the gain is more than chance."
    )


def f1_defaults(t: Tables) -> str:
    rows = t("F1 by")
    more, less = surely(rows)
    return (
        f"Of {len(rows)} cases, mce_f1 is better than the log loss beyond chance in {more}, "
        f"and worse in {less}."
    )


def graphs(t: Tables) -> str:
    first, alone = best(t("Topics"), "accuracy"), t("Topics", "logistic")[0]
    return (
        f"{first['method']} labels {first['accuracy']} per cent of the papers of Cora right; "
        "logistic "
        f"regression, which knows no citations, {alone['accuracy']}."
    )


def induction(t: Tables) -> str:
    chosen, given, all_of = (
        t.row("English", name)
        for name in ("ten attributes, induction", "ten attributes", "templates")
    )
    return (
        f"Of ten attributes, training makes conjunctions with an F1 of {chosen['F1']} on chunks; "
        "without "
        f"them it is {given['F1']}, and with templates {all_of['F1']}."
    )


def label_bias(t: Tables) -> str:
    column = "from the best"
    rows = [r for r in t("Label bias") if r[column]]
    biased = [r for r in rows if number(r[column]) < -1]
    others = numbers([r for r in rows if r not in biased], column)
    names = sorted({name_of(r).partition(",")[0] for r in biased})
    return (
        f"Only {' and '.join(names)}: {-max(numbers(biased, column)):g} to "
        f"{-min(numbers(biased, column)):g} "
        f"points below the best decoding; all others stay within {max(map(abs, others)):g} of it."
    )


def lattice(t: Tables) -> str:
    rows = t("Parts of speech")
    first = best(rows, "overall")
    corpora = t("Other corpora")
    won = sum(number(r["LatticeCRF"]) > number(r["CRF"]) for r in corpora)
    return (
        f"{first['overall']} per cent of the tags of Brown are right, with "
        f"{first['candidates per token']} "
        f"candidates a token; on {won} of {len(corpora)} other corpora LatticeCRF is better than "
        "CRF."
    )


def layers(t: Tables) -> str:
    faster = numbers(t("Loss"), "faster")
    return (
        f"Loss and gradient take 1/{min(faster):.0f} to 1/{max(faster):.0f} of the time of "
        f"pytorch-crf."
    )


def learning_curves(t: Tables) -> str:
    rows = [
        (title.partition(":")[0], row["overtakes EmpiricalCRF() at"])
        for title, table in t.all("overtake")
        for row in table
        if row["iterated model"] == "CRF, text_features, sigma=1"
    ]
    found = [f"{corpus} ({where})" for corpus, where in rows if not where.startswith("not")]
    return (
        f"A CRF with text_features overtakes EmpiricalCRF() on {len(found)} of {len(rows)} "
        "corpora: "
        f"{', '.join(found) or 'none'}."
    )


def left_out(t: Tables) -> str:
    seen, found = (
        t.row("445", n) for n in ("a model that has seen the labels", "find_label_issues")
    )
    own, grid = (t("Nine", name)[0]["CPU s"] for name in ("EmpiricalCRFCV", "GridSearchCV"))
    return (
        f"Wrong labels: {found['found in 890']} % are in 890 sentences, and "
        f"{seen['found in 890']} % if the model "
        f"has seen them. Settings: {own} s for nine, where a grid search takes {grid} s."
    )


def left_out_one_by_one(t: Tables) -> str:
    row = t("One sentence")[-1]
    return (
        f"With {row['sentences']} sentences, learning one takes "
        f"{row['learn one and label one, ms']} ms and "
        f"forgetting one {row['forget one and label one, ms']}, with labelling another; a new fit "
        f"{row['fit and label, ms']} ms."
    )


def letters(t: Tables) -> str:
    first, alone = best(t("Letters"), "letters"), t("Letters", "independent")[0]
    return (
        f"{first['method']} reads {first['letters']} per cent of the letters; letter by letter, "
        "logistic "
        f"regression reads {alone['letters']}."
    )


def max_margin(t: Tables) -> str:
    column = "above the minimum, per cent"
    first = best(t("200"), column, least=True)
    return (
        f"{first['solver']}: after {first['passes']} passes it is {first[column]} per cent "
        f"above the minimum."
    )


def memory(t: Tables) -> str:
    first, default = best(t("Bytes per weight"), "float64", least=True), t.row("Bytes", "lbfgs")
    return (
        f"{first['solver']} takes least, {first['float64']} bytes per weight in double precision; "
        f"{default['solver']}, the default, {default['float64']}."
    )


def output_codes(t: Tables) -> str:
    speed, exact = t("One", "OutputCodeCRF")[0]["times faster"], t.row("Parts", "CRF")
    code = best(t("Parts", "balanced"), "accuracy")
    return (
        f"An evaluation with 205 labels is {speed} times as fast; the best code labels "
        f"{code['accuracy']} per cent "
        f"right, a CRF {exact['accuracy']}."
    )


def papers(t: Tables) -> str:
    rows = [r for r in t("[EP] table 1") if r["in the paper"]]
    apart = [abs(number(r["accuracy"]) - number(r["in the paper"])) for r in rows]
    closed, standard = (t.row("[ECRN] II", f"objective {n}") for n in CLOSED)
    return (
        f"Label bias within {max(apart):.1f} points; the closed form has the objective "
        f"{closed['ours']}, standard "
        f"training {standard['ours']} ({standard['theirs']} in the paper). Splits of Brown differ "
        "from theirs, "
        "as the tables say."
    )


CLOSED = ("at the closed form", "of standard training")


def papers_mce(t: Tables) -> str:
    f1, log_loss = t("[MCE] table 2: chunks")[0], t("[MCE] table 1: chunks", "MAP")[0]
    return (
        f"On chunks, {f1['ours']} per cent of the sentences are right ({f1['sentences, theirs']} "
        "in "
        f"the paper), and {log_loss['ours']} by the log loss ({log_loss['sentences, theirs']})."
    )


def papers_separate(t: Tables) -> str:
    rows = [r for r in t("Separate training: Dutch") if r["features"] == "of the papers"]
    first = best([r for r in rows if r["training"].startswith("SeparateCRF")], "F1")
    exact = next(r for r in rows if r["training"] == "CRF")
    return (
        f"With the features of the papers, {first['training']} has an F1 of {first['F1']} on "
        "Dutch names, and a "
        f"CRF {exact['F1']}."
    )


def parsers(t: Tables) -> str:
    training, labelling = (numbers(t(n), "times faster") for n in ("Training", "Labels"))
    others = sum(numbers(t("Labels"), "sequences with other labels"))
    return (
        f"They train {span(training)} times as fast, and label {span(labelling)} times as fast; "
        f"{others:g} sequences "
        "get other labels."
    )


def peers(t: Tables) -> str:
    return f"The best F1, or accuracy: {wins(t)} corpora."


def promise_sizes(t: Tables) -> str:
    rows, column = t("The smallest"), "at 90 %: by probability"
    most = (
        best(rows, column)[column]
        if all(NUMBER.match(r[column]) for r in rows)
        else rows[-1][column]
    )
    return (
        "Sets that hold the right labelling in 90 % of the cases have "
        f"{best(rows, column, least=True)[column]} to {most} labellings on average."
    )


def promises(t: Tables) -> str:
    rows = [r for r in t("Whole") if NUMBER.match(r["held, %"])]
    below = max(number(r["promised, %"]) - number(r["held, %"]) for r in rows)
    return (
        f"Of {len(t('Whole'))} promises {len(t('Whole')) - len(rows)} are refused; the others are "
        "kept, or missed "
        f"by {max(below, 0):.1f} points at most."
    )


def scale(t: Tables) -> str:
    inside, outside = t("CRF by L-BFGS")[-2:]
    return (
        f"With {outside['tokens']} tokens on disk, an evaluation takes "
        f"{outside['times in memory']} times as long "
        f"as in memory, and training {outside['memory']} MB instead of {inside['memory']} MB."
    )


def scaling(t: Tables) -> str:
    first, *_, row = t("Training", "default")
    return (
        f"{row['tokens']} tokens take {row['CPU s']} s, {row['us per token']} us and "
        f"{row['bytes per token']} bytes "
        f"each; of {first['tokens']} tokens each takes {first['us per token']} us and "
        f"{first['bytes per token']} bytes."
    )


def segments(t: Tables) -> str:
    rows = t("EmpiricalCRF: F1")
    gains = [number(r["segments"]) - number(r["tokens"]) for r in rows]
    return (
        f"Counted segments change F1 by {span(gains, '+.2f')} points, and are better in "
        f"{sum(gain > 0 for gain in gains)} of {len(rows)} cases."
    )


def serving(t: Tables) -> str:
    row = t.row("One sentence", "CRF, tagger")
    return (
        f"In {row['median us']} microseconds by the tagger of a CRF, "
        f"{1 / number(row['times CRFsuite']):.0f} times "
        "as fast as CRFsuite's."
    )


def speed(t: Tables) -> str:
    whole, times = (t("Speed", n)[0] for n in ("fit on Brown", "how many times"))
    default = next(r for r in t("Speed", "fit on Brown") if "default" in r["what"])
    return (
        f"680,271 tokens of Brown take {default['measured']}, in the mode of the papers "
        f"{whole['measured']}; Dutch "
        f"names are trained {times['measured'].removesuffix(' x')} times as fast as by "
        "python-crfsuite."
    )


def starts(t: Tables) -> str:
    rows = t("init")
    pairs = [list(map(number, r["evaluations to 1 % above the minimum"].split(", "))) for r in rows]
    fewer = sum(counted < zeros for zeros, counted in pairs)
    return f"In {fewer} of {len(rows)} cases fewer evaluations reach 1 % above the minimum."


def text(t: Tables) -> str:
    redacting = numbers(t("Spans"), "redacting 1 MB, CPU s")
    return (
        f"{span(numbers(t('Tokens'), 'tokens found, %'))} per cent of the tokens are found; "
        "redacting 1 MB takes "
        f"{span(redacting)} s."
    )


def trees(t: Tables) -> str:
    rows = t("Relations, trained", "log loss")
    chain, tree = (next(r for r in rows if r["structure"] == n) for n in ("chain", "tree"))
    return (
        f"Of the relations of words to their heads, a tree labels {tree['words']} per cent right, "
        "and a chain "
        f"{chain['words']}."
    )


def two_stages(t: Tables) -> str:
    f1 = "F1, test part"
    two = best([r for r in t("Dutch") if "then" in r["method"]], f1)
    pool, alone = best(t("Dutch", "pool"), f1), t.row("Dutch", "CRF")
    return (
        f"On Dutch names, two stages have an F1 of {two[f1]} and a pool {pool[f1]}, where a CRF "
        "alone has "
        f"{alone[f1]}."
    )


def unlabelled(t: Tables) -> str:
    rows = [r for r in t("Per cent") if r["estimator"] == "EmpiricalCRF"]
    gains = [number(r["best, 1"]) - number(r["alone"]) for r in rows]
    return f"EmpiricalCRF changes by {span(gains, '+.2f')} points on {len(rows)} corpora and sizes."


ANSWERS: dict[str, Callable[[Tables], str]] = {
    name: function
    for name, function in list(globals().items())
    if getattr(function, "__annotations__", {}) == {"t": Tables, "return": str} and name != "wins"
}
# Page: the beginning of the title of a table, the number of columns that name a row, the column of
# values, and a pattern for the names of rows.
CHARTS = {
    "accuracy": ("Dutch", 1, "F1", ""),
    "annotation": ("A simulated", 1, "same score with", ""),
    "annotation_keys": ("Keys", 2, "with Tab, Home, End", "Dutch"),
    "annotators": ("Dutch: F1", 1, "gain", ""),
    "boosting": ("English", 1, "F1", ""),
    "browser": ("Files", 1, "MB", "8|16"),
    "calibration": ("Calibration error, %", 2, "after", ""),
    "corpora": ("Dutch names, 2", 1, "F1", ""),
    "crf": ("Compared", 1, "better by", "training to .*float64$"),
    "criteria": ("English chunks: test", 1, "F1", ""),
    "criteria_ner": ("Dutch", 1, "F1", ""),
    "f1_criterion": ("F1, and", 1, "difference", ""),
    "f1_defaults": ("F1 by", 3, "difference", "of the papers|text_f"),
    "graphs": ("Topics", 1, "accuracy", ""),
    "induction": ("English", 1, "F1", ""),
    "label_bias": ("Label bias", 1, "accuracy", ""),
    "lattice": ("Parts", 1, "overall", ""),
    "layers": ("Loss", 1, "faster", ""),
    "left_out": ("445", 1, "found in 890", ""),
    "left_out_one_by_one": ("One", 1, "learn one and label one, ms", ""),
    "letters": ("Letters", 1, "letters", ""),
    "max_margin": ("200", 2, "above the minimum, per cent", ""),
    "memory": ("Bytes per weight", 1, "float64", ""),
    "output_codes": ("Parts", 1, "accuracy", ""),
    "papers": ("[EP] table 1", 1, "accuracy", ""),
    "papers_mce": ("[MCE] table 1: chunks", 1, "ours", ""),
    "papers_separate": ("Separate training: Dutch", 2, "F1", ""),
    "parsers": ("Training", 1, "times faster", ""),
    "peers": ("Dutch", 1, "F1", ""),
    "promise_sizes": ("The smallest", 2, "at 90 %: by probability", ""),
    "promises": ("Whole", 1, "held, %", ""),
    "scale": ("CRF by", 2, "memory", ""),
    "scaling": ("Training", 2, "CPU s", "^default"),
    "segments": ("Without", 4, "F1", "^ner"),
    "serving": ("One sentence", 1, "median us", ""),
    "speed": ("Speed", 1, "measured", "^predict"),
    "starts": ("init", 2, "loss of the start / of zeros", ""),
    "text": ("Tokens", 1, "tokens found, %", ""),
    "trees": ("Relations, trained", 3, "whole sentences", ""),
    "two_stages": ("Dutch", 1, "F1, test part", ""),
    "unlabelled": ("Per cent", 3, "best, 1", "EmpiricalCRF"),
}
