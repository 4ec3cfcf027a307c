"""Modules of the folder campaigns."""

import sys
from pathlib import Path

import pytest
from programs import modules_of

FOLDER = Path(__file__).parents[2] / "campaigns"


@pytest.fixture
def load():
    """Import a module of campaigns by its name."""
    if sys.platform != "linux":
        pytest.skip("campaigns need Linux")
    with modules_of(FOLDER) as load:
        yield load
