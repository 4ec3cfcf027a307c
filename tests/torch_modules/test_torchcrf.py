"""The class with the names of pytorch-crf."""

import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from sklearn_crcrf.torch import ChainCRF  # noqa: E402
from sklearn_crcrf.torch.torchcrf import CRF  # noqa: E402


def batch(batch_first, seed=0):
    torch.manual_seed(seed)
    lengths = torch.tensor([7, 1, 3, 5])
    mask = torch.arange(7) < lengths[:, None]
    tensors = torch.randn(4, 7, 5), torch.randint(5, (4, 7)), mask
    return tensors if batch_first else [tensor.transpose(0, 1) for tensor in tensors]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "token_mean"])
def test_it_is_pytorch_crf(batch_first, reduction):
    theirs = pytest.importorskip("torchcrf").CRF(5, batch_first)
    ours = CRF(5, batch_first)
    ours.load_state_dict(theirs.state_dict())
    emissions, tags, mask = batch(batch_first)
    for given in ({}, {"mask": mask}, {"mask": mask.byte()}):
        results = []
        for crf in (theirs, ours):
            x = emissions.clone().requires_grad_()
            value = crf(x, tags, reduction=reduction, **given)
            weight = torch.linspace(1, 2, value.numel()).reshape(value.shape)
            results.append([value, *torch.autograd.grad(value, [x, *crf.parameters()], weight)])
        for a, b in zip(*results, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            assert_allclose(b.detach(), a.detach(), rtol=1e-5, atol=1e-6)
        assert ours.decode(emissions, **given) == theirs.decode(emissions, **given)


def test_it_is_the_layer_but_for_the_sign():
    ours, layer = CRF(5, batch_first=True), ChainCRF(5, reduction="sum")
    pairs = {"transitions": "transitions", "start_transitions": "begin", "end_transitions": "end"}
    for theirs, name in pairs.items():
        getattr(layer, name).data = getattr(ours, theirs).data
    emissions, tags, mask = batch(True)
    assert ours(emissions, tags, mask) == -layer(emissions, tags, mask)
    best = layer.decode(emissions, mask)
    assert ours.decode(emissions, mask) == [row[row >= 0].tolist() for row in best]
    assert all(p.abs().max() <= 0.1 for p in CRF(9).parameters())


def test_batches_without_tokens():
    assert CRF(2, batch_first=True).decode(torch.zeros(1, 0, 2), torch.zeros(1, 0)) == [[]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(1, 2), None), "emissions must have dimension of 3, got 2"),
        ((torch.zeros(1, 2, 3), None), "expected last dimension of emissions is 5, got 3"),
        (
            (torch.zeros(1, 2, 5), torch.zeros(2, 2)),
            r"two dimensions of emissions and mask must match, got \(1, 2\) and \(2, 2\)",
        ),
        (
            (torch.zeros(2, 1, 5), torch.tensor([[0], [1]])),
            "mask of the first timestep must all be on",
        ),
    ],
)
def test_errors_have_the_words_of_pytorch_crf(arguments, message):
    with pytest.raises(ValueError, match=message):
        CRF(5).decode(*arguments)
    with pytest.raises(ValueError, match="invalid number of tags: 0"):
        CRF(0)
    with pytest.raises(ValueError, match="invalid reduction: all"):
        CRF(2)(torch.zeros(1, 1, 2), torch.zeros(1, 1).long(), reduction="all")
    with pytest.raises(ValueError, match="emissions and tags must match"):
        CRF(2)(torch.zeros(1, 2, 2), torch.zeros(2, 2).long())
