"""The CRF layer, against all labellings one by one."""

from functools import partial

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf.labels import segment_constraints
from sklearn_crcrf.structures import Scores

torch = pytest.importorskip("torch")

from sklearn_crcrf.torch import ChainCRF  # noqa: E402

CLASSES = ["O", "B-X", "I-X"]
LENGTHS = [4, 1, 3]
OFFSETS = np.append(0, np.cumsum(LENGTHS))


def layer(constraints="IOB2", seed=0, **options):
    crf = ChainCRF(3, constraints, classes=CLASSES, **options).double()
    rng = np.random.default_rng(seed)
    for parameter in crf.parameters():
        parameter.data[:] = torch.tensor(rng.normal(size=parameter.shape))
    return crf


def inputs(seed=0):
    mask = np.arange(5) < np.array(LENGTHS)[:, None]
    scores = np.where(mask[:, :, None], np.random.default_rng(seed).normal(size=(3, 5, 3)), np.nan)
    return torch.tensor(scores, requires_grad=True), torch.tensor(mask)


def enumerated(crf, scores, mask):
    """Of each sequence all labellings, their scores and their probabilities."""
    allowed = segment_constraints(CLASSES, "IOB2").scores()
    shared = (crf.transitions, crf.begin, crf.end)
    parts = [p.detach().numpy() + more for p, more in zip(shared, allowed, strict=True)]
    given = Scores.of(scores[mask].detach().numpy(), *parts)
    return [oracle.distribution(given, *OFFSETS[i : i + 2]) for i in range(3)]


@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "token_mean"])
def test_loss(reduction):
    crf, (scores, mask) = layer(reduction=reduction), inputs()
    y = torch.tensor([[1, 2, 0, 1, -1], [0, -1, -1, -1, -1], [0, 1, 2, -1, -1]])
    expected = []
    for (every, _, probability), labels, n in zip(
        enumerated(crf, scores, mask), y.tolist(), LENGTHS, strict=True
    ):
        expected.append(-np.log(probability[every.index(tuple(labels[:n]))]))
    n = {"none": 1, "sum": 1, "mean": 3, "token_mean": 8}[reduction]
    expected = np.array(expected if reduction == "none" else np.sum(expected)) / n
    assert_allclose(crf(scores, y, mask).detach().numpy(), expected)
    tensors = [scores.detach()[mask].requires_grad_(), *crf.parameters()]

    def loss(numbers, *_):
        return crf(numbers, y[mask], lengths=LENGTHS)

    assert torch.autograd.gradcheck(loss, tensors)


def test_the_best_labellings():
    crf, (scores, mask) = layer(), inputs()
    best, (value, ranked) = crf.decode(scores, mask), crf.k_best(scores, 5, mask)
    assert best.dtype == ranked.dtype == torch.int64 and (best[~mask] == -1).all()
    for i, (every, total, _) in enumerate(enumerated(crf, scores, mask)):
        order = np.argsort(-total, kind="stable")[:5]
        order = order[total[order] > -np.inf]
        n, length = len(order), LENGTHS[i]
        assert best[i, :length].tolist() == list(every[order[0]])
        assert_array_equal(ranked[i, :n, :length], [every[j] for j in order])
        assert_allclose(value[i, :n], total[order])
        assert value.dtype == torch.float64
        assert (value[i, n:] == -np.inf).all() and (ranked[i, n:] == -1).all()
        assert (ranked[i, :, length:] == -1).all()


def test_marginals_and_entropy():
    crf, (scores, mask) = layer(), inputs()
    marginals, entropy = crf.marginals(scores, mask), crf.entropy(scores, mask)
    assert (marginals[~mask] == 0).all()
    for i, (every, _, probability) in enumerate(enumerated(crf, scores, mask)):
        of_tokens = np.eye(3)[np.array(every)]
        expected = np.einsum("p,ptl->tl", probability, of_tokens)
        assert_allclose(marginals[i, : LENGTHS[i]].detach().numpy(), expected, atol=1e-12)
        p = probability[probability > 0]
        assert_allclose(entropy[i].item(), -(p * np.log(p)).sum())


@pytest.mark.parametrize("method", ["marginals", "entropy"])
def test_derivatives_of_probabilities(method):
    crf, (scores, mask) = layer(), inputs()
    tensors = [scores.detach()[mask].requires_grad_(), *crf.parameters()]

    def value(numbers, *_):
        return getattr(crf, method)(numbers, lengths=LENGTHS)

    assert torch.autograd.gradcheck(value, tensors)
    getattr(crf, method)(scores, mask).sum().backward()
    assert (scores.grad[~mask] == 0).all() and torch.isfinite(scores.grad).all()


def test_samples_have_their_probabilities():
    crf, (scores, mask) = layer(), inputs()
    torch.manual_seed(0)
    drawn = crf.sample(scores, 4000, mask)
    assert drawn.shape == (4000, 3, 5) and (drawn[:, ~mask] == -1).all()
    for i, (every, _, probability) in enumerate(enumerated(crf, scores, mask)):
        found = [tuple(path) for path in drawn[:, i, : LENGTHS[i]].tolist()]
        shares = np.array([found.count(path) / 4000 for path in every])
        assert np.abs(shares - probability).max() < 0.03
        assert shares[probability == 0].sum() == 0
    torch.manual_seed(0)
    assert torch.equal(crf.sample(scores, 4000, mask), drawn)
    first, second = (
        crf.sample(scores, 3, mask, generator=torch.Generator().manual_seed(1)) for _ in range(2)
    )
    assert torch.equal(first, second)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_method_takes_single_precision(dtype):
    crf, (scores, mask) = layer().to(dtype), inputs()
    exact, scores = layer(), scores.detach().to(dtype)
    for parameter, other in zip(exact.parameters(), crf.parameters(), strict=True):
        parameter.data = other.data.double()
    for method in ("marginals", "entropy"):
        found, expected = (
            getattr(one, method)(numbers, mask)
            for one, numbers in ((crf, scores), (exact, scores.double()))
        )
        assert found.dtype == torch.float32
        assert_allclose(found.detach(), expected.detach(), atol=1e-5)
    assert torch.equal(crf.decode(scores, mask), exact.decode(scores.double(), mask))
    assert torch.equal(crf.k_best(scores, 2, mask)[1], exact.k_best(scores.double(), 2, mask)[1])


def test_joined_tokens():
    crf, (scores, mask) = layer(), inputs()
    joined, options = scores[mask], {"lengths": LENGTHS}
    assert torch.equal(crf.decode(joined, **options), crf.decode(scores, mask)[mask])
    value, ranked = crf.k_best(joined, 2, **options)
    assert torch.equal(value, crf.k_best(scores, 2, mask)[0])
    assert torch.equal(ranked, crf.k_best(scores, 2, mask)[1].movedim(1, 2)[mask].T)
    assert crf.sample(joined, 7, **options).shape == (7, 8)


def test_what_is_stored_are_the_parameters():
    crf = layer()
    assert set(crf.state_dict()) == {"transitions", "begin", "end"}
    other = ChainCRF(3, "IOB2", classes=CLASSES)
    other.load_state_dict(crf.state_dict())
    scores, mask = inputs()
    assert torch.equal(crf.float().decode(scores, mask), other.decode(scores, mask))


def test_constraints_by_numbers():
    crf = ChainCRF(2, {0: [1]})
    scores = torch.tensor([[[5.0, 0.0], [5.0, 0.0], [5.0, 0.0]]])
    assert crf.decode(scores).tolist() == [[0, 1, 0]]
    assert crf.marginals(scores)[0, 1, 0].item() < 0.01
    assert ChainCRF(2).decode(scores).tolist() == [[0, 0, 0]]


def test_wrong_arguments():
    with pytest.raises(ValueError, match=r"^classes must be 3 labels, but has the shape"):
        ChainCRF(3, "IOB2", classes=["O", "B-X"])
    with pytest.raises(ValueError, match=r"^classes must be|label"):
        ChainCRF(3, "IOB2")
    crf, (scores, mask) = layer(), inputs()
    for method in (crf.decode, crf.marginals, crf.entropy):
        with pytest.raises(ValueError, match=r"^scores, sequence 1, position 1: .* is nan"):
            method(scores, lengths=[4, 2, 3])
        with pytest.raises(ValueError, match=r"^sequence 1: "):
            method(torch.full_like(scores, -np.inf).index_fill(0, torch.tensor([0]), 0.0), mask)
    for method in (partial(crf.k_best, k=2), crf.sample):
        with pytest.raises(ValueError, match=r"^scores, sequence 1, position 1: .* is nan"):
            method(scores, lengths=[4, 2, 3])
    with pytest.raises(ValueError, match=r"^n_labels must be positive, but is 0"):
        ChainCRF(0)
    with pytest.raises(ValueError, match=r"^k must be positive, but is 0"):
        crf.k_best(scores, 0, mask)
    with pytest.raises(ValueError, match="path of sequence 0 is possible"):
        crf.sample(torch.full((1, 2, 3), -np.inf))
    with pytest.raises(ValueError, match=r"^transitions must have the shape \(4, 4\)"):
        crf.decode(torch.zeros(1, 2, 4))
