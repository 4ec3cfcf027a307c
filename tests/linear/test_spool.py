"""Objects in a file whose arrays are mapped into memory."""

import numpy as np

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.linear.folder_shards import Spool


def test_a_spool_maps_arrays(tmp_path):
    with Spool(tmp_path) as spool:
        items = [SequenceArray(np.arange(5.0), [0, 2, 5]), {"empty": np.empty(0), "n": 1}]
        for item in items:
            spool.append(item)
        found = spool[0]
        assert found == items[0] and not found.data.flags.writeable
        assert spool[1]["n"] == 1 and len(spool[1]["empty"]) == 0
        assert not list(tmp_path.iterdir())
    assert found == items[0]
