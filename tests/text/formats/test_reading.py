"""Files as annotation tools and corpora have them, and what is said of what they lack."""

import csv
import gzip
import io
import json

import numpy as np
import pytest

from sklearn_crcrf.text import Span, read_spans, write_spans

EMOJI = "\U0001f468\U0001f3fb\u200d\U0001f692 firemen drive firetrucks"


def read(content, format="auto", **options):
    if not isinstance(content, str):
        content = json.dumps(content)
    return read_spans(io.StringIO(content), format, **options)


def marked(documents):
    """The spans with their texts."""
    both = zip(documents.texts, documents.spans, strict=True)
    return [[(text[s.start : s.end], s.label) for s in spans] for text, spans in both]


def region(text, start, end, label, **more):
    value = {"start": start, "end": end, "text": text, "labels": [label]}
    return {"value": value, "from_name": "l", "to_name": "t", "type": "labels", **more}


def task(text, *regions, key="annotations", **more):
    return {"id": 7, "data": {"text": text}, key: [{"result": list(regions)}], **more}


def test_label_studio():
    found = read([task("Ann sings", region("Ann", 0, 3, "PER")), task("x")])
    assert marked(found) == [[("Ann", "PER")], []]
    assert found.groups == ["7", "7"]
    assert read([task("Ann sings", region("Ann", 0, 3, "PER"), key="completions")]).spans
    minimal = [{"text": "Ann sings", "l": [{"start": 0, "end": 3, "text": "Ann", "labels": ["P"]}]}]
    assert marked(read(minimal)) == [[("Ann", "P")]]


@pytest.mark.parametrize(("start", "end"), [(19, 29), (22, 32)], ids=["characters", "utf-16"])
def test_label_studio_counts_what_agrees_with_the_text(start, end):
    found = read([task(EMOJI, region("firetrucks", start, end, "X"))])
    assert marked(found) == [[("firetrucks", "X")]]


def test_label_studio_says_what_it_leaves_out():
    both = task("Ann sings", region("Ann", 0, 3, "PER"))
    both["annotations"].append({"result": [region("Ann", 0, 3, "ORG")]})
    relation = {"type": "relation", "from_id": "a"}
    tasks = [task("x", relation), both, {"data": {"text": "y"}, "annotations": []}]
    with pytest.warns(UserWarning) as warned:
        found = read(tasks)
    assert marked(found) == [[], [("Ann", "ORG")]]
    assert {str(it.message).partition(": ")[2] for it in warned} == {
        "not read are results of the type 'relation': document 0",
        "of several annotations the last is read: document 1",
        "left out, as nobody has annotated it: document 2",
    }
    cancelled = both["annotations"][1]["was_cancelled"] = True
    assert cancelled
    assert marked(read([both])) == [[("Ann", "PER")]]
    with pytest.warns(UserWarning, match="predictions of a model"):
        found = read([task("Ann", region("Ann", 0, 3, "P", score=0.5), key="predictions")])
    assert found.spans == [[Span(0, 3, "P", 0.5)]]


def test_doccano_counts_utf_16():
    for record in (
        {"id": 3, "text": EMOJI, "label": [[22, 32, "X"]], "Comments": []},
        {
            "id": 3,
            "text": EMOJI,
            "entities": [{"label": "X", "start_offset": 22, "end_offset": 32}],
        },
    ):
        with pytest.warns(UserWarning, match="UTF-16"):
            found = read(record)
        assert marked(found) == [[("firetrucks", "X")]]
        assert found.groups == ["3"]
    line = json.dumps({"text": EMOJI, "label": [[19, 29, "X"]]})
    assert marked(read(line, offsets="characters")) == [[("firetrucks", "X")]]
    line = json.dumps({"text": "\xe9 b", "label": [[3, 4, "X"]]})
    assert marked(read(line, offsets="bytes")) == [[("b", "X")]]
    with pytest.warns(UserWarning, match="relations are not read: document 0"):
        read({"text": "a", "entities": [], "relations": [{"id": 1}]})


def test_prodigy():
    lines = [
        {"text": "Ann", "spans": [{"start": 0, "end": 3, "label": "P"}], "answer": "accept"},
        {"text": "Bob", "spans": [], "answer": "reject", "tokens": [{"text": "Bob"}]},
    ]
    with pytest.warns(UserWarning, match="the answer is 'reject': line 2"):
        found = read("\n".join(map(json.dumps, lines)))
    assert marked(found) == [[("Ann", "P")]]
    with pytest.raises(ValueError, match="document 0: the answer is about one span only"):
        read([{**lines[0], "_is_binary": True}])


def test_spacy():
    pair = ["Ann sings", {"entities": [[0, 3, "PER"]], "cats": {}}]
    with pytest.warns(UserWarning, match="not read are cats"):
        assert marked(read([pair])) == [[("Ann", "PER")]]
    del pair[1]["cats"]
    assert marked(read(pair)) == [[("Ann", "PER")]]
    assert marked(read({"classes": ["PER"], "annotations": [pair, None]})) == [[("Ann", "PER")]]


def test_json_lines_with_tokens():
    record = {"tokens": ["Ann", "Lee", "."], "labels": ["B-P", "I-P", "O"]}
    assert marked(read(record)) == [[("Ann Lee", "P")]]
    record = {**record, "full_text": "Ann\nLee.", "trailing_whitespace": [True, False, False]}
    assert marked(read(record)) == [[("Ann\nLee", "P")]]
    with pytest.raises(ValueError, match="lists of as many strings"):
        read({"tokens": ["Ann"], "ner_tags": [1]})


@pytest.fixture
def brat(tmp_path):
    def write(name, text, marks):
        (tmp_path / f"{name}.txt").write_bytes(text.encode())
        (tmp_path / f"{name}.ann").write_text(marks, encoding="utf-8")
        return tmp_path

    return write


def test_brat(brat):
    text = "Ann\r\nLee and Bob sing"
    folder = brat(
        "a", text, "T1\tPER 0 3;5 8\tAnn Lee\nR1\tX Arg1:T1 Arg2:T1\nT2\tPER 13 16\tBob\n"
    )
    with pytest.warns(UserWarning, match="not read are relations: a.ann, line 2"):
        found = read_spans(folder)
    assert found == ([text], [[Span(0, 8, "PER"), Span(13, 16, "PER")]], ["a"])
    with pytest.warns(UserWarning):
        assert read_spans(folder / "a.txt") == read_spans(folder / "a.ann") == found


def test_brat_errors_name_the_line(brat):
    for line in ("T1\tPER x y\tAnn", "T1\tPER\tAnn", "T1"):
        with pytest.raises(ValueError, match=r"a\.ann, line 1: expected a label and its offsets"):
            read_spans(brat("a", "Ann", line))
    with pytest.raises(ValueError, match=r"a\.ann: .*leaves the text"):
        read_spans(brat("a", "Ann", "T1\tPER 0 9\tAnn"))


def test_brat_with_gaps_and_other_offsets(brat):
    folder = brat("a", "Ann and Bob Lee", "T1\tPER 0 3;12 15\tAnn Lee\n")
    with pytest.warns(UserWarning, match="T1 has a gap.*: a.ann, line 1"):
        assert marked(read_spans(folder)) == [[("Ann", "PER"), ("Lee", "PER")]]
    folder = brat("a", EMOJI, "T1\tX 22 32\tfiretrucks\n")
    assert marked(read_spans(folder)) == [[("firetrucks", "X")]]
    folder = brat("a", "Ann and Bob Lee", "T1\tPER 1 4\tAnn\n")
    with pytest.raises(ValueError, match=r"a\.ann: 'PER' from character 1 to 4 should cover 'Ann'"):
        read_spans(folder)


KAGGLE = """Sentence #,Word,POS,Tag
Sentence: 1,London,NNP,B-geo
,"a, b",NN,O
,\"\"\"\",``,O
Sentence: 2,Rex,NNP,B-per
,Lee,NNP,I-per
"""


def test_a_table_like_kaggle_s():
    found = read(KAGGLE)
    assert found.texts == ['London a, b "', "Rex Lee"]
    assert marked(found) == [[("London", "geo")], [("Rex Lee", "per")]]
    assert (
        read(KAGGLE.replace('"a, b"', "ab").replace('""""', "x").replace(",", "\t")).groups is None
    )
    with_documents = "doc,sentence,token,label\nd1,1,Ann,B-P\nd1,2,sings,O\nd2,1,Bob,B-P\n"
    assert read(with_documents)[::2] == (["Ann\nsings", "Bob"], ["d1", "d2"])


def test_a_table_of_texts_and_spans():
    table = 'id;Text;Spans\n1;"Ann; in\nRome";[[0, 3, "PER"], [8, 12, "LOC"]]\n2;Bob;\n'
    found = read(table)
    assert found.texts == ["Ann; in\nRome", "Bob"] and found.groups == ["1", "2"]
    assert marked(found) == [[("Ann", "PER"), ("Rome", "LOC")], []]
    assert read(table, "csv") == read("\ufeff\r\n" + table) == found
    assert marked(read("Ann\tO\r\rsings\tO\r")) == [[], []]
    # As pandas writes lists, and as Label Studio writes regions.
    assert marked(read("text,spans\nAnn,\"[(0, 3, 'PER')]\"\n")) == [[("Ann", "PER")]]
    regions = '"[{""start"": 3, ""end"": 6, ""text"": ""Ann"", ""labels"": [""PER""]}]"'
    found = read(f"text,id,label\n\U0001f600  Ann,4,{regions}\n")
    assert marked(found) == [[("Ann", "PER")]]


def test_fields_of_any_length_are_read():
    limit, text = csv.field_size_limit(), "Ann sings. " * 20_000
    found = read(f'text,spans\n{text},"[[0, 3, ""PER""]]"\n')
    assert found.texts == [text] and marked(found) == [[("Ann", "PER")]]
    assert csv.field_size_limit() == limit


def test_a_missing_quotation_mark_is_found_in_a_long_table():
    rows = ["Sentence,Word,Tag", *(f"{i},a,O" for i in range(20_000))]
    rows[5] = '5,",O'
    with pytest.raises(ValueError, match=r"line 6: .*is a quotation mark missing"):
        read("\n".join(rows))


def test_columns_with_documents():
    text = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\nPeter NNP I-NP I-PER\n\n"
    found = read(2 * text)
    assert found.texts == 2 * ["EU rejects\nPeter"]
    assert marked(found) == 2 * [[("EU", "ORG"), ("Peter", "PER")]]
    text = "-DOCSTART- (1 EU) O\n\nEU B-ORG\n\n-DOCSTART- (2 Rome) O\n\nRome B-LOC\n"
    assert read(text).groups == ["1 EU", "2 Rome"]


@pytest.mark.parametrize(
    "rows",
    [
        "#\thttp://x [2009]\n1\tIn\tO\tO\n2\tParis\tB-LOC\tO\n\n#\ty\n1\tX\tO\tB-LOC\n",
        "# sent_id = 1\n1\tIn\tO\t-\t-\n2\tParis\tB-LOC\t-\t-\n\n1\tX\tO\t-\t-\n",
    ],
    ids=["GermEval", "UNER"],
)
@pytest.mark.filterwarnings("ignore:.*left out as comments")
def test_numbered_words(rows):
    found = read(rows)
    assert found.texts == ["In Paris", "X"]
    assert marked(found) == [[("Paris", "LOC")], []]


CONLLU = """# newdoc id = w1
# sent_id = 1
1-2\tZum\t_\t_\t_\t_\t_\t_\t_\tNER=O
1\tzu\tzu\tADP\t_\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_
2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
3\tRhein\tRhein\tPROPN\t_\t_\t0\troot\t_\tSpaceAfter=No|NER=B-LOC
4\t!\t!\tPUNCT\t_\t_\t3\tpunct\t_\t_

1\tJa\tja\tINTJ\t_\t_\t0\troot\t_\t_

# newdoc id = w2
1\tNo\tno\tINTJ\t_\t_\t0\troot\t_\t_
"""


def test_conllu():
    found = read(CONLLU)
    assert found.texts == ["Zum Rhein!\nJa", "No"]
    assert marked(found) == [[("Rhein", "LOC")], []]
    assert found.groups == ["w1", "w2"]
    without = "\n".join(line for line in CONLLU.split("\n") if "newdoc" not in line)
    assert read(without).texts == ["Zum Rhein!", "Ja", "No"]
    with pytest.warns(UserWarning, match="no names in MISC"):
        read(CONLLU.replace("NER=", "X="))


def test_folders_and_compressed_files(tmp_path):
    write_spans(tmp_path / "a.jsonl", ["Ann"], [[(0, 3, "P")]])
    write_spans(tmp_path / "b.jsonl.gz", ["Bob", "x"], [[(0, 3, "P")], []], groups=["d", "e"])
    assert gzip.decompress((tmp_path / "b.jsonl.gz").read_bytes()).count(b"\n") == 2
    found = read_spans(tmp_path)
    assert marked(found) == [[("Ann", "P")], [("Bob", "P")], []]
    assert found.groups == ["a.jsonl", "d", "e"]


@pytest.mark.filterwarnings("ignore:.*UTF-16")
def test_a_text_of_a_megabyte(tmp_path):
    line = "Ann e\u0301 \U0001f600 sings.\r\n\tBob\n"
    text = line * 50_000
    spans = [(i, i + 3, "PER") for i in range(0, len(text), 100 * len(line))]
    for format in ("jsonl", "doccano", "conllu", "brat", "label-studio"):
        write_spans(tmp_path / format, [text], [spans], format)
        found = read_spans(
            tmp_path / format, format, offsets="utf-16" if format == "doccano" else None
        )
        assert found.texts == [text]
        assert [span[:3] for span in found.spans[0]] == spans


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "Ann"}\n{"text": "Ann", "spans": [[0, 9, "P"]]}', "line 2: .*leaves the text"),
        ('{"text": "Ann", "spans": [[1, 1, "P"]]}', "document 0: .*is empty"),
        ('{"text": "Ann", "spans": [[0, 1]]}', "document 0: a span must have a start"),
        ('{"text": "Ann"}\n{"text"', "line 2 is not JSON"),
        ('{"words": "Ann"}', "document 0: there is no text, but 'words'"),
        (
            '{"text": "a", "spans": [{"start": 0, "end": 1, "label": "x", "text": "b"}]}',
            "should cover",
        ),
        ('[["a", {"entities": [[0, "PER"]]}]]', "document 0: a span must have a start"),
        ('[["a", {"entities": 3}]]', "document 0: expected a list, got 3"),
        (
            '[{"data": {"text": "a"}, "annotations": [3]}]',
            "document 0: annotations must be objects",
        ),
        (
            '[{"data": {"text": "a"}, "annotations": [{"result": 3}]}]',
            "document 0: expected a list",
        ),
        (CONLLU.replace("3\tRhein", "x\tRhein"), "line 7 has no id: "),
        (CONLLU.replace("NER=B-LOC", "NER=x"), "document 0: .*label 'x'"),
        ("Sentence #,Word,Tag\n1,a,O\n1,b\n", "line 3 has 2 columns, expected 3"),
        ("Sentence #,Word,Tag\n,a,O\n", "line 2 has no sentence"),
        ("Sentence #,Word,Tag\n1,a,O\n2,b,O\n1,c,O\n", "line 4: the sentence '1' began in line 2"),
        ("Sentence #,Word,Tag\n1,a,O\n1,b,O\n,c,O\n", "line 3: the sentence '1' is that"),
        ("Sentence #,Word,Tag\n1,,O\n", "line 2 has nothing in the column 'Word'"),
        ("Sentence,Position,Word,Tag\n1,1,a,O\n1,x,b,O\n", "line 3: the position 'x' is no number"),
        (
            "Sentence,Position,Word,Tag\n1,1,a,O\n1,1,b,O\n",
            "line 3: the position '1' is also in line 2",
        ),
        ('Sentence #,Word,Tag\n1,"a,O\n1,b,O\n', "quotation mark"),
        ("text,label\nAnn,good\n", "line 2: spans must be a list in JSON, .* got 'good'"),
        ("text,spans\nAnn, Bob,[]\n", "line 2: 3 columns, expected 2"),
        ('text,spans\nAnn,"[[0, 4, ""P""]]"\n', "line 2: .*leaves the text"),
        ("text,spans\nAnn,3\n", "line 2: expected a list, got 3"),
        (
            '{"tokens": ["a", "b"], "labels": ["O", "O"], "trailing_whitespace": [true]}',
            "document 0: trailing_whitespace must be a list of as many values as tokens",
        ),
        (
            '{"text": "a", "spans": [{"start": 0, "end": 1, "label": "A", "score": "high"}]}',
            "document 0: spans: a probability must be a number, got 'high'",
        ),
    ],
)
def test_errors_name_the_place(content, message):
    with pytest.raises(ValueError, match=message):
        read(content)


def test_an_error_names_its_file_once(tmp_path):
    (tmp_path / "a.csv").write_bytes("Sentence,Word,Tag\n1,Zo\u00eb,O\n".encode("latin-1"))
    with pytest.raises(ValueError, match="cannot be decoded") as raised:
        read_spans(tmp_path / "a.csv")
    assert str(raised.value).count("a.csv") == 1
    with pytest.raises(ValueError, match="offsets must be one of"):
        read_spans(io.StringIO("a O\n"), offsets="words")


def test_positions_are_numbers():
    rows = "".join(f"1,{i},w{i},O\n" for i in sorted(map(str, range(12))))
    assert read("Sentence,Position,Word,Tag\n" + rows).texts == [
        " ".join(f"w{i}" for i in range(12))
    ]


def test_writing_names_what_a_format_lacks(tmp_path):
    text, spans = "Ann Lee, sings", [Span(0, 7, "PER", 0.5)]
    with pytest.warns(UserWarning) as warned:
        write_spans(tmp_path / "a.conll", [text], [spans])
    told = " ".join(str(it.message) for it in warned)
    assert "no probabilities: document 0, characters 0 to 7" in told
    assert "not the spaces between them: document 0, characters 7 to 7" in told
    for format, span, message in [
        ("conll", (0, 7, "Full Name"), "document 0, characters 0 to 7: .*'Full Name'"),
        ("conll", (0, 5, "PER"), "document 0: .*from character 0 to 5"),
        ("brat", (0, 7, "Full Name"), "document 0, characters 0 to 7: in brat the label"),
    ]:
        with pytest.raises(ValueError, match=message):
            write_spans(tmp_path / "x", [text], [[span]], format)
    with pytest.raises(ValueError, match=r"document 0: character 1, .*cannot be encoded"):
        write_spans(tmp_path / "x", ["a\ud800"], [[]], "jsonl")
    with pytest.raises(ValueError, match=r"document 0: the label '.ud800', character 0"):
        write_spans(tmp_path / "x", ["a"], [[(0, 1, "\ud800")]], "jsonl")
    with pytest.raises(ValueError, match="cannot begin with a byte order mark"):
        write_spans(tmp_path / "x", ["\ufeffa b"], [[]], "conll")
    write_spans(tmp_path / "x", ["a"], [[(0, 1, "A", np.float32(0.5))]], "jsonl")
    assert read_spans(tmp_path / "x").spans == [[Span(0, 1, "A", 0.5)]]
    with pytest.raises(ValueError, match=r"format: 'x\.y' does not say which"):
        write_spans("x.y", [], [])


def test_what_is_missing_is_named(tmp_path):
    (tmp_path / "a.ann").write_text("T1\tPER 0 3\tAnn\n")
    with pytest.raises(ValueError, match=r"a\.ann: its text is missing; brat keeps it in a\.txt"):
        read_spans(tmp_path / "a.ann")
    table = "Sentence #,POS,Tag\n1,NN,O\n"
    with pytest.raises(ValueError, match="no column is called 'Word', only 'Sentence #,POS,Tag'"):
        read_spans(io.StringIO(table), "csv")
    with pytest.raises(
        ValueError, match="encoding must name an encoding of text: unknown encoding: foo"
    ):
        read_spans(io.StringIO(table), encoding="foo")
    for group in (None, float("nan")):
        with pytest.raises(ValueError, match="groups: document 1 has the group"):
            write_spans(io.StringIO(), ["a", "b"], [[], []], "jsonl", groups=["x", group])
    with pytest.raises(ValueError, match="encoding must name"):
        write_spans(io.StringIO(), ["a"], [[]], "jsonl", encoding="foo")
