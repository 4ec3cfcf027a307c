"""Which sentence a person is given next."""

from sklearn_crcrf.apps.annotation import order
from sklearn_crcrf.apps.annotation.order import Order


def test_a_sentence_that_is_kept_too_long_is_given_to_another_person(monkeypatch):
    given = Order([["a", "dog"]])
    assert given.hand_out("ann") == 0
    assert given.hand_out("bob") is given.hand_out_first("bob") is None
    monkeypatch.setattr(order, "PATIENCE", -1.0)
    assert given.hand_out("bob") == given.hand_out_first("ann") == 0
