"""Programs that people use to label sequences, each as its own tutorial does.

A program is a function of the sentences and labels of the training part, and returns what labels
sentences, and the size of the model in bytes. A token is a word, or a dict of a word and its
part of speech. Programs that are not installed raise ImportError, and commands that train for too
long TimeoutError.
"""

import pickle
import random
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sklearn_crcrf import CRFsuiteCRF, LatticeCRF
from sklearn_crcrf.labels.segments.segments import to_segments
from sklearn_crcrf.model_files import save_model

N_EPOCHS, BATCH = 10, 32  # of neural networks
MOST_SECONDS = 600  # of CPU time for a command that trains, after which it is stopped
EXAMPLE = {"c1": 1.0, "c2": 1e-3, "max_iterations": 50, "feature.possible_transitions": True}
TUTORIAL = {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "all_possible_transitions": True}


class Trained(NamedTuple):
    """What labels sentences, and the size of the model in bytes."""

    label: Callable[[Sequence[Sequence]], list[Sequence[str]]]
    size: int

    @classmethod
    def one_by_one(cls, tag: Callable[[Sequence], Sequence[str]], size: int) -> "Trained":
        """Label one sentence at a time."""
        return cls(lambda sentences: [[*tag(sentence)] for sentence in sentences], size)


def python_crfsuite(X: Sequence, y: Sequence) -> Trained:
    """Train as the example of names of python-crfsuite does."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence, labels in zip(X, y, strict=True):
        trainer.append(dicts(sentence), labels)
    trainer.set_params(EXAMPLE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        trainer.train(str(path))
        content = path.read_bytes()
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(content)
    return Trained.one_by_one(lambda sentence: tagger.tag(dicts(sentence)), len(content))


def sklearn_crfsuite(X: Sequence, y: Sequence) -> Trained:
    """Train as the tutorial of sklearn-crfsuite does."""
    import sklearn_crfsuite as peer

    crf = peer.CRF(**TUTORIAL).fit([dicts(sentence) for sentence in X], y)
    size = Path(crf.modelfile.name).stat().st_size
    return Trained.one_by_one(lambda sentence: crf.predict_single(dicts(sentence)), size)


def drop_in(X: Sequence, y: Sequence) -> Trained:
    """Train the same with our class of the same name."""
    crf = CRFsuiteCRF(**TUTORIAL).fit([dicts(sentence) for sentence in X], y)
    return with_size(crf, dicts)


def with_size(model: Any, read: Callable[[Sequence], Any] = list) -> Trained:
    """Return what labels sentences by a model of this package, and the size of its file."""
    has_tagger = not isinstance(model, LatticeCRF)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.tagger().save(path) if has_tagger else save_model(model, path)
        size = path.stat().st_size
    if not has_tagger:
        return Trained(model.predict, size)
    tag = model.tagger()
    return Trained.one_by_one(lambda sentence: tag(read(sentence)), size)


def crfpp(X: Sequence, y: Sequence) -> Trained:
    """Train CRF++ with the templates of its example of chunks."""
    lines = [f"U{n:02}:{line}" for n, line in enumerate(templates(X))]
    train = ["crf_learn", "template", "train", "model"]
    return by_files(X, y, [*lines, "B"], train, ["crf_test", "-m", "model", "-o", "found", "test"])


def wapiti(X: Sequence, y: Sequence) -> Trained:
    """Train Wapiti with the same templates."""
    lines = [f"u{n:02}:{line}" for n, line in enumerate(templates(X))]
    train = ["wapiti", "train", "-p", "template", "train", "model"]
    return by_files(X, y, [*lines, "b"], train, ["wapiti", "label", "-m", "model", "test", "found"])


def templates(X: Sequence) -> list[str]:
    """Return the words around a token, pairs of words, and runs of tags if there are tags."""
    words = [*(f"%x[{t},0]" for t in range(-2, 3)), "%x[-1,0]/%x[0,0]", "%x[0,0]/%x[1,0]"]
    if isinstance(X[0][0], str):
        return words
    runs = [(t, t + n) for n in (1, 2, 3) for t in range(-2, 4 - n)]
    return [*words, *("/".join(f"%x[{t},1]" for t in range(*run)) for run in runs)]


def by_files(
    X: Sequence, y: Sequence, template: list[str], train: list[str], label: list[str]
) -> Trained:
    """Train and label by commands, which read and write files."""
    if shutil.which(train[0]) is None:
        raise ImportError(f"there is no program {train[0]}")
    folder = tempfile.TemporaryDirectory()

    def write(name: str, X: Sequence, y: Sequence | None = None) -> None:
        rows = [[[w] if isinstance(w, str) else [*w.values()] for w in sentence] for sentence in X]
        for sentence, labels in zip(rows, y or (), strict=y is not None):
            for row, name_of_label in zip(sentence, labels, strict=True):
                row.append(name_of_label)
        text = "\n".join("".join(f"{' '.join(row)}\n" for row in s) for s in rows)
        Path(folder.name, name).write_text(text + "\n", encoding="utf-8")

    def run(command: list[str]) -> None:
        limited = ["prlimit", f"--cpu={MOST_SECONDS}", *command]
        ended = subprocess.run(limited, cwd=folder.name, capture_output=True)
        if -ended.returncode in (signal.SIGXCPU, signal.SIGKILL):
            raise TimeoutError(f"stopped after {MOST_SECONDS}")
        ended.check_returncode()

    Path(folder.name, "template").write_text("".join(f"{line}\n" for line in template))
    write("train", X, y)
    run(train)

    def tag(sentences: Sequence[Sequence]) -> list[Sequence[str]]:
        write("test", sentences)
        run(label)
        text = Path(folder.name, "found").read_text(encoding="utf-8").strip("\n")
        return [[row.split()[-1] for row in part.split("\n")] for part in text.split("\n\n")]

    return Trained(tag, Path(folder.name, "model").stat().st_size)


def nltk_perceptron(X: Sequence, y: Sequence) -> Trained:
    """Train the tagger of NLTK, on words alone."""
    from nltk.tag.perceptron import PerceptronTagger

    random.seed(0)
    tagger = PerceptronTagger(load=False)
    tagger.train([[*zip(words(s), labels, strict=True)] for s, labels in zip(X, y, strict=True)])
    size = len(pickle.dumps((tagger.model.weights, tagger.tagdict, tagger.classes)))
    return Trained.one_by_one(
        lambda sentence: [label for _, label in tagger.tag(words(sentence))], size
    )


def spacy_blank(X: Sequence, y: Sequence) -> Trained:
    """Train the names, or else the tagger, of a blank model of spaCy, on words alone."""
    import spacy
    from spacy.tokens import Doc, Span
    from spacy.training import Example
    from spacy.util import fix_random_seed, minibatch

    fix_random_seed(0)
    nlp = spacy.blank("xx")
    has_segments = any(label.startswith("B-") for labels in y for label in labels)
    pipe = nlp.add_pipe("ner" if has_segments else "tagger")
    for label in sorted({label for labels in y for label in labels} - {"O"}):
        pipe.add_label(label.partition("-")[2] if has_segments else label)
    examples = []
    for sentence, labels in zip(X, y, strict=True):
        plain = Doc(nlp.vocab, words=words(sentence))
        gold = Doc(nlp.vocab, words=words(sentence), tags=None if has_segments else labels)
        if has_segments:
            _, starts, ends, kinds = to_segments([labels], "IOB2")
            gold.ents = [Span(gold, *it) for it in zip(starts, ends, kinds, strict=True)]
        examples.append(Example(plain, gold))
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(N_EPOCHS):
        random.shuffle(examples)
        for batch in minibatch(examples, BATCH):
            nlp.update(batch, sgd=optimizer, drop=0.2)

    def tag(sentence: Sequence) -> list[str]:
        doc = pipe(Doc(nlp.vocab, words=words(sentence)))
        if not has_segments:
            return [token.tag_ for token in doc]
        return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]

    return Trained.one_by_one(tag, len(nlp.to_bytes()))


def bilstm_crf(X: Sequence, y: Sequence) -> Trained:
    """Train a BiLSTM with a layer of pytorch-crf, from random weights, on words and suffixes."""
    import torch
    from torch.nn.utils.rnn import pad_sequence
    from torchcrf import CRF

    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    labels_ = sorted({label for labels in y for label in labels})
    number = {label: i for i, label in enumerate(labels_)}
    views = [str.lower, lambda word: word[-3:], shape]
    known = [w for s in X for w in words(s)]
    tables = [{v: i for i, v in enumerate(dict.fromkeys(map(view, known)), 1)} for view in views]

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = (100, 30, 20)
            self.embeddings = torch.nn.ModuleList(
                torch.nn.Embedding(len(t) + 1, n) for t, n in zip(tables, sizes, strict=True)
            )
            self.lstm = torch.nn.LSTM(sum(sizes), 100, bidirectional=True, batch_first=True)
            self.drop, self.out = torch.nn.Dropout(0.5), torch.nn.Linear(200, len(labels_))
            self.crf = CRF(len(labels_), batch_first=True)

        def forward(self, ids: Any) -> Any:
            parts = [e(ids[..., k]) for k, e in enumerate(self.embeddings)]
            return self.out(self.drop(self.lstm(self.drop(torch.cat(parts, -1)))[0]))

    def ids_of(sentence: Sequence) -> Any:
        both = list(zip(tables, views, strict=True))
        return torch.tensor([[t.get(view(w), 0) for t, view in both] for w in words(sentence)])

    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    targets = [torch.tensor([number[label] for label in labels]) for labels in y]
    data = list(zip(map(ids_of, X), targets, strict=True))
    for _ in range(N_EPOCHS):
        random.shuffle(data)
        for start in range(0, len(data), BATCH):
            inputs, targets = zip(*data[start : start + BATCH], strict=True)
            inputs, targets = pad_sequence(inputs, True), pad_sequence(targets, True, -1)
            unseen = torch.rand(inputs.shape[:2]) < 0.05  # so that 0 is learned, too
            inputs[..., 0] = inputs[..., 0].masked_fill(unseen, 0)
            loss = -network.crf(network(inputs), targets.clamp(0), targets >= 0, "mean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    network.eval()

    def tag(sentence: Sequence) -> list[str]:
        with torch.no_grad():
            return [labels_[i] for i in network.crf.decode(network(ids_of(sentence)[None]))[0]]

    return Trained.one_by_one(tag, sum(p.numel() * p.element_size() for p in network.parameters()))


def dicts(sentence: Sequence) -> list[dict[str, Any]]:
    """Describe tokens as the tutorials do: each token, and what is near it."""
    of_neighbours = [near(token) for token in sentence]
    before = [{"BOS": True}, *({f"-1:{k}": v for k, v in it.items()} for it in of_neighbours)]
    after = [*({f"+1:{k}": v for k, v in it.items()} for it in of_neighbours[1:]), {"EOS": True}]
    return [
        {
            "bias": 1.0,
            "word[-3:]": word[-3:],
            "word[-2:]": word[-2:],
            "word.isdigit()": word.isdigit(),
            **near(token),
            **before[t],
            **after[t],
        }
        for t, (token, word) in enumerate(zip(sentence, words(sentence), strict=True))
    ]


def near(token: Any) -> dict[str, Any]:
    """Describe a token as its neighbours see it."""
    word, *tag = [token] if isinstance(token, str) else token.values()
    features = {"word.lower()": word.lower(), "word.istitle()": word.istitle()}
    features["word.isupper()"] = word.isupper()
    return features | ({"postag": tag[0], "postag[:2]": tag[0][:2]} if tag else {})


def words(sentence: Sequence) -> list[str]:
    """Return the words of tokens."""
    return [token if isinstance(token, str) else next(iter(token.values())) for token in sentence]


def shape(word: str) -> str:
    """Return which characters are letters and digits, each run once."""
    kinds = [
        "X" if c.isupper() else "x" if c.islower() else "9" if c.isdigit() else c for c in word
    ]
    return "".join(kind for kind, last in zip(kinds, ["", *kinds], strict=False) if kind != last)
