"""Where values are in sorted arrays."""

import numpy as np


def places_in(known: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return where each wanted value is in a rising array, -1 if it is not there.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.utils.searching import places_in
    >>> places_in(np.array([2, 5, 7]), np.array([5, 6, 9, 2]))
    array([ 1, -1, -1,  0])
    """
    place = np.searchsorted(known, wanted)
    place[place == len(known)] = -1
    return np.where(known[place] == wanted, place, -1) if len(known) else place
