"""Which sentence a person is given next."""

from sklearn_crcrf.apps.annotation import order
from sklearn_crcrf.apps.annotation.order import Order


def test_a_sentence_that_is_kept_too_long_is_given_to_another_person(monkeypatch):
    given = Order([["a", "dog"]])
    assert given.hand_out("ann", is_diverse=False) == 0
    assert given.hand_out("bob", is_diverse=False) is None
    monkeypatch.setattr(order, "PATIENCE", -1.0)
    assert given.hand_out("bob", is_diverse=False) == 0
