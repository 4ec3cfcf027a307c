"""Losses of torch: values, gradients, layouts, types and errors."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.criteria import CRITERIA, MCEF1, SoftmaxMargin, local_log_loss, log_loss
from sklearn_crcrf.labels import roles_of
from sklearn_crcrf.structures import (
    Candidates,
    Chain,
    Forest,
    Graph,
    HigherOrderChain,
    Lattice,
    Scores,
    SemiMarkovChain,
    Spans,
    Unsupported,
)

torch = pytest.importorskip("torch")

from sklearn_crcrf.torch import ChainCRF, StructuredLoss  # noqa: E402

CLASSES = ["O", "B-X", "I-X"]
OFFSETS = np.array([0, 4, 7, 9, 10])
ROLES = roles_of(CLASSES, "IOB2")
Y = np.array([1, 2, 0, 1, 0, 1, 2, 1, 1, 0])
RNG = np.random.default_rng(0)
GOLD_AND_SOME = (RNG.random((10, 3)) < 0.6) | np.eye(3, dtype=bool)[Y]
CANDIDATES = Candidates.of(GOLD_AND_SOME, np.full((10, 3), 1 / 3))
EDGES = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [4, 5], [4, 6], [8, 7]])
STRUCTURES = {
    "chain": Chain(OFFSETS),
    "forest": Forest(OFFSETS, np.array([1, -1, 1, 2, -1, 4, 4, -1, 7, -1])),
    "graph": Graph(OFFSETS, EDGES, "exact"),
    "second order": HigherOrderChain(OFFSETS, [lambda i, j, k: np.sin(9.0 * i + 3 * j + k)], 0.0),
    "segments": SemiMarkovChain(OFFSETS, ROLES, 2, Spans.all(OFFSETS, 2)),
    "lattice": Lattice(OFFSETS, CANDIDATES, 2),
}
EVERY = {
    **CRITERIA,
    "local_log_loss": local_log_loss,
    "segment costs": SoftmaxMargin(segment_cost=0.7),
}
EVERY = {name: criterion.for_labels(CLASSES) for name, criterion in EVERY.items()}
CASES = [
    (name, structure)
    for structure, it in STRUCTURES.items()
    for name, criterion in EVERY.items()
    if all(map(it.can, criterion.requires))
]
RAGGED = [4, 1, 3]


def random_tensors(structure, seed=0):
    """The arguments of a loss that have gradients, by their names."""
    rng = np.random.default_rng(seed)
    shapes = {"scores": (10, 3), "transitions": (3, 3), "begin": (3,), "end": (3,)}
    if structure == "segments":
        layout = STRUCTURES[structure].layout
        shapes["own"] = (layout.n_types * (layout.n_lengths + layout.n_spans),)
    if structure == "lattice":
        shapes = {"scores": (STRUCTURES[structure].n_runs,)}
    return {
        name: torch.tensor(rng.normal(size=shape), requires_grad=True)
        for name, shape in shapes.items()
    }


def gradients_are_right(loss, y, structure, **options):
    tensors = random_tensors(structure)

    def value(*numbers):
        given = dict(zip(tensors, numbers, strict=True))
        return loss(labels=y, structure=STRUCTURES[structure], **given, **options)

    return torch.autograd.gradcheck(value, tuple(tensors.values()), eps=1e-6, atol=1e-5)


@for_each(("name", "structure"), CASES)
def test_gradients(name, structure):
    loss = StructuredLoss(EVERY[name], reduction="none" if EVERY[name].is_sum else "token_mean")
    assert gradients_are_right(loss, torch.tensor(Y), structure)


@for_each(("name", "structure"), CASES)
def test_the_mean_has_the_mean_of_the_gradients(name, structure):
    if not EVERY[name].is_sum:
        return
    given = {"labels": torch.tensor(Y), "structure": STRUCTURES[structure]}
    gradients = []
    for reduction in ("mean", "none"):
        tensors = random_tensors(structure)
        value = StructuredLoss(EVERY[name], reduction=reduction)(**given, **tensors).mean()
        gradients.append(torch.autograd.grad(3 * value, [*tensors.values()]))
    for a, b in zip(*gradients, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_which_structures_have_which_criteria():
    had = {structure: {name for name, it in CASES if it == structure} for structure in STRUCTURES}
    assert had["chain"] == {*CRITERIA, "local_log_loss"}
    assert had["segments"] >= {"log_loss", "max_margin", "softmax_margin", "mce", "mce_f1"}
    assert all({"log_loss", "max_margin", "softmax_margin"} <= names for names in had.values())


@for_each("structure", STRUCTURES)
def test_gradients_with_partial_labels(structure):
    allowed = np.eye(3, dtype=bool)[Y]
    allowed[[1, 6]] = [True, True, True]
    assert gradients_are_right(StructuredLoss(), torch.tensor(allowed), structure)


@pytest.mark.parametrize("name", CRITERIA)
def test_values_are_those_of_the_criterion(name):
    given = random_tensors("chain")
    arrays = [tensor.detach().numpy() for tensor in given.values()]
    expected = EVERY[name](Chain(OFFSETS), Scores.of(*arrays), Y.astype(np.int32))[0]
    lengths = torch.tensor(np.diff(OFFSETS))
    if not EVERY[name].is_sum:
        (loss := StructuredLoss(EVERY[name], reduction="sum"))
        assert_allclose(
            loss(labels=torch.tensor(Y), lengths=lengths, **given).item(),
            EVERY[name].combine(expected.sum(axis=0))[0],
        )
        return
    reduced = {"none": expected, "sum": expected.sum()}
    reduced |= {"mean": expected.mean(), "token_mean": expected.sum() / 10}
    for reduction, value in reduced.items():
        loss = StructuredLoss(EVERY[name], reduction=reduction)
        found = loss(labels=torch.tensor(Y), lengths=lengths, **given)
        assert found.dtype == torch.float64 and found.shape == np.shape(value)
        assert_allclose(found.detach().numpy(), value)


def padded(seed=0, dtype=torch.float64):
    """Scores with room for sequences of RAGGED tokens, labels and mask; padding is NaN."""
    rng = np.random.default_rng(seed)
    mask = np.arange(5) < np.array(RAGGED)[:, None]
    scores = np.where(mask[:, :, None], rng.normal(size=(3, 5, 3)), np.nan)
    labels = np.where(mask, rng.integers(3, size=mask.shape), -100)
    scores = torch.tensor(scores).to(dtype).requires_grad_()
    return scores, torch.tensor(labels), torch.tensor(mask)


def test_every_layout_has_the_same_loss():
    scores, labels, mask = padded()
    transitions = torch.tensor(RNG.normal(size=(3, 3)), requires_grad=True)

    def losses(*args, **options):
        loss = StructuredLoss(reduction="none")(*args, transitions=transitions, **options)
        grad = torch.autograd.grad(loss @ torch.arange(1.0, 4).double(), (scores, transitions))
        return torch.cat([loss, *map(torch.flatten, grad)]).detach()

    expected = losses(scores, labels, mask)
    assert expected[3:48].reshape(3, 5, 3)[~mask].abs().max() == 0
    for way in (mask.int(), mask.tolist(), mask.double()):
        assert torch.equal(losses(scores, labels, way), expected)
    for way in (RAGGED, torch.tensor(RAGGED), np.array(RAGGED)):
        assert torch.equal(losses(scores, labels, lengths=way), expected)
    assert torch.equal(losses(scores[mask], labels[mask], lengths=RAGGED), expected)
    chain = Chain(np.append(0, np.cumsum(RAGGED)))
    assert torch.equal(losses(scores[mask], labels[mask], structure=chain), expected)
    assert torch.equal(losses(scores, labels, mask, structure=chain), expected)
    one = StructuredLoss()(scores[0, :4], labels[0, :4], transitions=transitions)
    assert one.item() == expected[0].item()  # without lengths, all tokens are one sequence
    swapped = scores.transpose(0, 1).contiguous().transpose(0, 1)  # need not be contiguous
    assert torch.equal(losses(swapped, labels, mask), expected)


def test_a_mask_leaves_out_tokens_in_the_middle():
    rng = np.random.default_rng(1)
    scores, labels = (
        torch.tensor(rng.normal(size=(2, 5, 3))),
        torch.tensor(rng.integers(3, size=(2, 5))),
    )
    mask = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 0, 1, 1]])
    transitions = torch.tensor(rng.normal(size=(3, 3)))
    loss = StructuredLoss(reduction="none")
    kept = mask.bool()
    expected = loss(scores[kept], labels[kept], transitions=transitions, lengths=[3, 2])
    assert torch.equal(loss(scores, labels, mask, transitions), expected)


def test_sequences_may_be_empty():
    scores, labels, _ = padded()
    loss = StructuredLoss(reduction="none")(scores, labels, lengths=[4, 0, 0])
    assert loss[1:].tolist() == [0, 0]
    for reduction in ("sum", "mean", "token_mean"):
        value = StructuredLoss(reduction=reduction)(scores[:0], labels[:0])
        assert value.shape == () and value.item() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_types_of_numbers(dtype):
    scores, labels, mask = padded(dtype=dtype)
    transitions = torch.tensor(RNG.normal(size=(3, 3)), dtype=dtype, requires_grad=True)
    loss = StructuredLoss()(scores, labels, mask, transitions)
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    exact = [tensor.detach().double().requires_grad_() for tensor in (scores, transitions)]
    expected = StructuredLoss()(exact[0], labels, mask, exact[1])
    assert_allclose(loss.item(), expected.item(), rtol=1e-5)
    loss.backward(), expected.backward()
    for tensor, reference in zip((scores, transitions), exact, strict=True):
        assert tensor.grad.dtype == dtype
        error = (tensor.grad.double() - reference.grad).abs().max().item()
        assert error <= torch.finfo(dtype).eps if dtype != torch.float64 else error < 1e-12


def test_the_scale_of_gradients_of_halves():
    """As torch.amp.GradScaler scales them: the scale itself is no half."""
    scores, labels, mask = padded(dtype=torch.float16)
    (2.0**16 * StructuredLoss("log_loss")(scores, labels, mask)).backward()
    exact = scores.detach().double().requires_grad_()
    StructuredLoss()(exact, labels, mask).backward()
    assert_allclose(scores.grad.double() / 2**16, exact.grad, rtol=1e-3)


def test_only_what_needs_a_gradient_gets_one():
    scores, labels, mask = padded()
    transitions = torch.zeros(3, 3, dtype=torch.double, requires_grad=True)
    loss = StructuredLoss()
    assert not loss(scores.detach(), labels, mask).requires_grad
    with torch.no_grad():
        assert not loss(scores, labels, mask, transitions).requires_grad
    loss(scores.detach(), labels, mask, transitions).backward()
    assert scores.grad is None and transitions.grad.abs().max() > 0
    value = loss(scores, labels, mask, transitions)
    first = torch.autograd.grad(value, scores, retain_graph=True)
    assert torch.equal(*first, *torch.autograd.grad(value, scores))
    value, given = loss(scores * 1.0, labels, mask, transitions), transitions.detach()
    given += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(loss(scores, labels, mask), scores, create_graph=True)


def test_a_structure_of_offsets():
    make = partial(SemiMarkovChain, roles=ROLES, max_length=2)
    given, y = random_tensors("segments"), torch.tensor(Y)
    del given["own"]
    loss = StructuredLoss("softmax_margin", make)
    expected = loss(labels=y, structure=make(OFFSETS), **given)
    assert loss(labels=y, lengths=np.diff(OFFSETS), **given) == expected


def test_lists_of_names_for_criteria():
    given, y = random_tensors("chain"), torch.tensor(Y)
    given |= {"labels": y, "lengths": np.diff(OFFSETS)}
    named = StructuredLoss("mce_f1", classes=CLASSES)(**given)
    assert named == StructuredLoss(MCEF1(weight=9.0).for_labels(CLASSES))(**given)


def test_the_compiler_leaves_it_as_it_is():
    scores, labels, mask = padded(dtype=torch.float32)
    crf = ChainCRF(3)
    layer = torch.nn.Linear(3, 3)

    def whole(x, y, mask):
        x = torch.relu(layer(torch.nan_to_num(x)))
        return 2 * crf(x, y, mask) + crf.entropy(x, mask).sum()

    expected = whole(scores, labels, mask)
    expected.backward()
    gradient = layer.weight.grad.clone()
    layer.zero_grad()
    compiled = torch.compile(whole, backend="eager")
    for _ in range(2):
        found = compiled(scores, labels, mask)
        assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    found.backward()
    assert_allclose(layer.weight.grad, gradient, rtol=1e-5, atol=1e-7)
    shorter = compiled(scores[:, :4], labels[:, :4], mask[:, :4])
    assert shorter.item() == pytest.approx(expected.item(), rel=1e-6)


def test_parallel_modules():
    scores, labels, mask = padded()
    crf = ChainCRF(3, reduction="none")
    expected = crf(scores, labels, mask)
    assert torch.equal(torch.nn.DataParallel(crf)(scores, labels, mask), expected)
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(crf, scores, labels, mask) for _ in range(40)]
        assert all(torch.equal(job.result(), expected) for job in jobs)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scores_on_a_gpu(dtype):
    scores, labels, mask = padded(dtype=dtype)
    crf = ChainCRF(3)
    expected = [crf(scores, labels, mask)]
    expected += torch.autograd.grad(expected[0], [scores, *crf.parameters()])
    crf, moved = crf.cuda(), [tensor.detach().cuda() for tensor in (scores, labels, mask)]
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
        stream.wait_stream(torch.cuda.default_stream())
        with torch.cuda.stream(stream):
            given = moved[0].clone().requires_grad_()
            found = [crf(given, *moved[1:])]
            found += torch.autograd.grad(found[0], [given, *crf.parameters()])
            best, marginals = crf.decode(given, moved[2]), crf.marginals(given, moved[2])
            marginals.sum().backward()
        stream.synchronize()
        assert all(one.is_cuda for one in (*found, best, marginals, given.grad))
        for a, b in zip(found, expected, strict=True):
            assert_allclose(a.float().detach().cpu(), b.float().detach(), rtol=1e-2, atol=1e-5)
        assert torch.equal(best.cpu(), crf.cpu().decode(scores, mask))
        crf.cuda()


def test_modules_are_copied_and_stored():
    scores, labels, mask = padded()
    crf = ChainCRF(3, "IOB2", classes=CLASSES, criterion="softmax_margin")
    labels[labels == 2] = 1
    expected = crf(scores, labels, mask)
    for other in (copy.deepcopy(crf), pickle.loads(pickle.dumps(crf)), crf.double()):
        assert other(scores, labels, mask) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s, y, m: (s, y.where(y != y[2, 1], 7), m),
            r"^labels, sequence 0, position \d: there is no label 7",
        ),
        (lambda s, y, m: (s, y, None), "^labels, sequence 0, position 4: there is no label -100"),
        (lambda s, y, m: (s, y.double(), m), "^labels must be integers, or bool with 3 labels"),
        (lambda s, y, m: (s, y[:, :4], m), r"^labels has the shape \(3, 4\), but scores \(3, 5\)"),
        (lambda s, y, m: (s, y, m[:2]), r"^mask has the shape \(2, 5\), but scores \(3, 5\)"),
        (lambda s, y, m: (s.long(), y, m), "^scores must be of floating point, but are of type"),
        (lambda s, y, m: (s[None], y, m), "^scores must have the shape"),
        (
            lambda s, y, m: (s.reshape(15, 3), y, None),
            r"^labels has the shape \(3, 5\), but scores",
        ),
    ],
)
def test_wrong_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        StructuredLoss()(*change(*padded()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lengths": [4, 6, 3]}, "^lengths: sequence 1 has 6 tokens, but scores have 5"),
        ({"lengths": [4, -1, 3]}, "^lengths: sequence 1 has -1 tokens"),
        ({"lengths": [4, 3.5, 3]}, "^lengths: sequence 1 has 3.5 tokens"),
        ({"lengths": [4, 3]}, "^lengths has the shape"),
        ({"lengths": RAGGED, "mask": [[1] * 5] * 3}, "^pass mask or lengths, not both"),
        ({"transitions": torch.zeros(2, 2)}, r"^transitions must have the shape \(3, 3\)"),
        ({"lengths": RAGGED, "begin": torch.zeros(2)}, r"^begin must have the shape \(3,\)"),
        ({"lengths": RAGGED, "own": torch.zeros(4)}, "^own: Chain has no scores of its own"),
        ({"structure": Chain(OFFSETS)}, "^structure has sequences of other lengths than scores"),
        ({"lengths": RAGGED, "end": torch.tensor([0, np.nan, 0])}, "^end has a number that is nan"),
    ],
)
def test_wrong_options(options, message):
    scores, labels, _ = padded()
    with pytest.raises(ValueError, match=message):
        StructuredLoss()(scores, labels.clamp(0), **options)


def test_no_mask_of_packed_tokens():
    scores, labels = torch.zeros(10, 3), torch.tensor(Y)
    with pytest.raises(ValueError, match=r"^mask: scores are of tokens only; pass lengths"):
        StructuredLoss()(scores, labels, torch.ones(10))
    with pytest.raises(ValueError, match=r"^lengths must be one number for each sequence"):
        StructuredLoss()(scores, labels, lengths=[RAGGED])


def test_wrong_scores_of_lattices():
    lattice, y = STRUCTURES["lattice"], torch.tensor(Y)
    n = lattice.n_runs
    for scores, begin, message in (
        (torch.zeros(10, 3), None, r"^scores must have the shape \(n_runs,\), but have \(10, 3\)"),
        (torch.zeros(9), None, f"^scores must be those of all {n} runs .* but are 9"),
        (torch.zeros(n), torch.zeros(3), f"^scores must be those of all {n} runs .* no others"),
    ):
        with pytest.raises(ValueError, match=message):
            StructuredLoss()(scores, y, begin=begin, structure=lattice)


def test_scores_that_are_no_numbers():
    scores, labels, mask = padded()
    for number in (np.nan, np.inf):
        wrong = scores.detach().clone()
        wrong[2, 1, 2] = number
        with pytest.raises(
            ValueError, match=r"^scores, sequence 2, position 1: .* label 2 is (nan|inf)"
        ):
            StructuredLoss()(wrong, labels, mask)
    transitions = torch.zeros(3, 3)
    transitions[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"^transitions has a number that is nan"):
        StructuredLoss()(scores, labels, mask, transitions)


def test_impossible_labels():
    scores, labels, mask = padded()
    labels[mask] = torch.tensor([0, 0, 0, 0, 0, 1, 0, 2])
    crf = ChainCRF(3, "IOB2", classes=CLASSES)
    with pytest.raises(ValueError, match=r"^labels, sequence 2, position 2: label 2 is impossible"):
        crf(scores, labels, mask)
    with pytest.raises(ValueError, match=r"^sequence 0: its labels, or all labels, are impossible"):
        StructuredLoss()(torch.full((1, 2, 2), -np.inf), torch.ones(1, 2, 2, dtype=torch.bool))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "loss"}, "^criterion must be one of log_loss, "),
        ({"structure": "tree"}, "^structure must be one of chain"),
        ({"reduction": "total"}, "^reduction must be one of none, sum, mean, token_mean"),
        ({"criterion": "mce_f1", "reduction": "none"}, "^reduction: .* one loss of a batch"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        StructuredLoss(**options)


def test_what_a_structure_does_not_have():
    scores, labels = torch.zeros(10, 3), torch.tensor(Y)
    with pytest.raises(
        Unsupported, match=r"^criterion=Piecewise\(\) needs pieces, which HigherOrder"
    ):
        StructuredLoss("piecewise")(scores, labels, structure=STRUCTURES["second order"])


def test_a_network_learns():
    """An encoder and the layer, from scratch: the parities of the bits so far."""
    torch.manual_seed(0)
    bits = torch.randint(2, (64, 9))
    y = bits.cumsum(1) % 2
    encoder, crf = torch.nn.GRU(1, 16, batch_first=True), ChainCRF(2)
    head = torch.nn.Linear(16, 2)
    optimiser = torch.optim.Adam(
        [*encoder.parameters(), *head.parameters(), *crf.parameters()], 0.02
    )
    for _ in range(150):
        optimiser.zero_grad()
        crf(head(encoder(bits[:, :, None].float())[0]), y).backward()
        optimiser.step()
    assert (crf.decode(head(encoder(bits[:, :, None].float())[0])) == y).double().mean() > 0.95


def test_log_loss_is_the_default():
    assert StructuredLoss().criterion is log_loss
    assert "LogLoss(), reduction='mean'" in repr(StructuredLoss())
    assert_array_equal(StructuredLoss().structure, Chain)
