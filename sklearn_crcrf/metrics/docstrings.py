"""What the parameters of metrics mean in all metrics that have them."""

from ..utils.docstrings import entries_of, filling

TOKENS = entries_of("""
    y_true, y_pred : list of label lists, SequenceArray or 1-D array
        True and predicted labels. An unknown true label, None or a missing value, is left out; a
        set of possible labels counts as the predicted label if it holds it, else as its first.
    known : list of bool lists, SequenceArray or 1-D array of bool
        Whether each token was seen in training, in the layout of ``y_true``.
    sample_weight : array-like of shape (n_samples,), optional
        One weight per sequence (per token if ``y_true`` is one-dimensional).
    ValueError
        If the arguments differ in length; the message names the sequence.
    """)

SEGMENTS = entries_of("""
    y_true, y_pred : list of label lists, SequenceArray or 1-D array
        True and predicted labels; a one-dimensional array is a single sequence. An unknown true
        label, None or a missing value, counts as the predicted label, but segments of nothing but
        unknown labels are left out. A set of possible labels counts as the predicted label if it
        holds it, else as its first.
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        What the prefixes of the labels mean.
    reading : {"conlleval", "strict"}, default="conlleval"
        Whether labels that break the scheme are forgiven, as the evaluation script of the CoNLL
        shared tasks does, or make no segment; see :func:`sklearn_crcrf.labels.to_segments`.
    sample_weight : array-like of shape (n_samples,), optional
        One weight per sequence (per token if ``y_true`` is one-dimensional: then a segment
        weighs what its first token does).
    ValueError
        If the arguments differ in length or a label does not fit the scheme; the message names
        the sequence, and the position.
    """)

of_tokens = filling(TOKENS)
"""A decorator of metrics that count tokens."""

of_segments = filling(SEGMENTS)
"""A decorator of metrics that count segments."""
