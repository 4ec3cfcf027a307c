"""The base of transformers that make features of spans."""

from sklearn.base import BaseEstimator, TransformerMixin

from ...utils.soundness import Sound


class SpanTransformer(Sound, TransformerMixin, BaseEstimator):
    """A transformer of sequences of strings or feature dicts."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.dict = True
        return tags
