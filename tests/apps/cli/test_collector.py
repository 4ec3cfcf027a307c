"""The collector of garbage goes on after a pause, unless it was off."""

import gc

import pytest

from sklearn_crcrf.apps.cli.tagging import paused_collector


def test_it_goes_on_after_errors_too():
    with pytest.raises(ValueError, match="damaged"), paused_collector():
        assert not gc.isenabled()
        raise ValueError("damaged")
    assert gc.isenabled()


def test_it_stays_off():
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
