"""Pipelines that offer all predictions of the sequence classifier that they end in."""

from collections.abc import Callable
from typing import Any, Self

from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.metaestimators import available_if

from .unwrap import tagger_of


def _last_has(method: str) -> Callable[["SequencePipeline"], bool]:
    """Return whether the last step has a method; if not, its AttributeError is raised."""

    def check(pipeline: "SequencePipeline") -> bool:
        getattr(pipeline.steps[-1][1], method)
        return True

    return check


class SequencePipeline(Pipeline):
    """A Pipeline that offers all predictions of the sequence classifier that it ends in.

    Everything else is as in scikit-learn's Pipeline, whose parameters it has.

    Parameters
    ----------
    steps : list of (str, estimator)
        Transformers, and a sequence classifier.
    transform_input : list of str, default=None
        The metadata that transformers should transform, as in Pipeline.
    memory : str or object with the joblib.Memory interface, default=None
        Where fitted transformers are kept.
    verbose : bool, default=False
        Whether to print the time of each step of ``fit``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels.
    n_features_in_ : int
        Number of columns, if the first step counts them.
    feature_names_in_ : ndarray of str objects
        Names of the columns, if the first step knows them.

    See Also
    --------
    make_sequence_pipeline : The names of the steps are their types.

    Examples
    --------
    >>> from sklearn_crcrf import CRF, make_sequence_pipeline, text_features
    >>> X = [["Ann", "sings"], ["Bob", "sleeps"]]
    >>> pipeline = make_sequence_pipeline(text_features("names"), CRF())
    >>> pipeline.fit(X, [["B-PER", "O"], ["B-PER", "O"]]).predict_spans([["Ann", "sleeps"]])
    [[(0, 1, 'PER', 0.97...)]]
    """

    @available_if(_last_has("confidence"))
    def confidence(self, X: Any, **constraints: Any) -> Any:
        """Return the probability of the predicted labelling of each sequence.

        Parameters
        ----------
        X : sequences
            As the first step takes them.
        **constraints
            ``subject_to``, as the last step takes it.

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        return self._last.confidence(self._transformed(X), **constraints)

    @available_if(_last_has("conformalize"))
    def conformalize(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Calibrate the last step with sequences that the pipeline was not fitted to.

        Parameters
        ----------
        X : sequences
            As the first step takes them.
        y, groups : as in :meth:`sklearn_crcrf.ConformalSequenceClassifier.conformalize`

        Returns
        -------
        self
        """
        self._last.conformalize(self._transformed(X), y, groups)
        return self

    @available_if(_last_has("entropy"))
    def entropy(self, X: Any) -> Any:
        """Return the entropy of the labellings of each sequence, in nats.

        Parameters
        ----------
        X : sequences
            As the first step takes them.

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        return self._last.entropy(self._transformed(X))

    @available_if(_last_has("predict_k_best"))
    def predict_k_best(
        self, X: Any, k: int = 5, **constraints: Any
    ) -> list[list[tuple[list, float]]]:
        """Return the k most probable labellings of each sequence.

        Parameters
        ----------
        X : sequences
            As the first step takes them.
        k : int, default=5
            Number of labellings.
        **constraints
            ``subject_to``, as the last step takes it.

        Returns
        -------
        list of lists of (labels, probability)
            A list for each sequence, the most probable labelling first.
        """
        return self._last.predict_k_best(self._transformed(X), k, **constraints)

    @available_if(_last_has("predict_pair_proba"))
    def predict_pair_proba(self, X: Any) -> list[Any]:
        """Return the joint probabilities of the labels of neighbouring tokens.

        Parameters
        ----------
        X : sequences
            As the first step takes them.

        Returns
        -------
        list of ndarray of shape (n_tokens - 1, n_labels, n_labels)
            An array for each sequence, with the label of the first token of each pair in the rows.
        """
        return self._last.predict_pair_proba(self._transformed(X))

    @available_if(_last_has("predict_set"))
    def predict_set(self, X: Any) -> Any:
        """Return the sets of labellings or labels that keep the promise of the last step.

        Parameters
        ----------
        X : sequences
            As the first step takes them.

        Returns
        -------
        sets
            As of :meth:`sklearn_crcrf.ConformalSequenceClassifier.predict_set`.
        """
        return self._last.predict_set(self._transformed(X))

    @available_if(_last_has("predict_spans"))
    def predict_spans(self, X: Any, scheme: str = "auto") -> list[list[tuple]]:
        """Return the segments of the predicted labels, with their probabilities.

        Parameters
        ----------
        X : sequences
            As the first step takes them.
        scheme : {"auto", "IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="auto"
            How labels spell segments; "auto" detects it from the labels.

        Returns
        -------
        list of lists of (start, end, type, probability)
            A list for each sequence; ``end`` is the position after the last token.
        """
        return self._last.predict_spans(self._transformed(X), scheme)

    @available_if(_last_has("sample"))
    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> list[Any]:
        """Draw labellings of all sequences from the distribution of the last step.

        Parameters
        ----------
        X : sequences
            As the first step takes them.
        n_samples : int, default=1
            Number of labellings of each sequence.
        random_state : int, RandomState or None, default=None
            Determines the draws.

        Returns
        -------
        list of n_samples labels
            Each as ``predict`` returns them, for all of X.
        """
        return self._last.sample(self._transformed(X), n_samples, random_state)

    @available_if(_last_has("tagger"))
    def tagger(self) -> Any:
        """Make a fast, immutable object that labels one sequence, as the first step takes it.

        Returns
        -------
        Tagger
            It gives the labels of ``predict``; see :class:`~sklearn_crcrf.serving.Tagger`.

        Raises
        ------
        ValueError
            If a tagger cannot do what one of the steps does; the message names it.
        """
        return tagger_of(self)

    @property
    def _last(self) -> Any:
        return self.steps[-1][1]

    def _transformed(self, X: Any) -> Any:
        return self[:-1].transform(X) if len(self.steps) > 1 else X


def make_sequence_pipeline(
    *steps: Any,
    memory: Any = None,
    transform_input: list[str] | None = None,
    verbose: bool = False,
) -> SequencePipeline:
    """Return a SequencePipeline whose steps are named by their types.

    Parameters
    ----------
    *steps : estimators
        Transformers, and a sequence classifier.
    memory, transform_input, verbose : as in :class:`SequencePipeline`

    Returns
    -------
    SequencePipeline

    Examples
    --------
    >>> from sklearn_crcrf import CRF, Window, SequenceVectorizer, make_sequence_pipeline
    >>> [name for name, _ in make_sequence_pipeline(Window(), SequenceVectorizer(), CRF()).steps]
    ['window', 'sequencevectorizer', 'crf']
    """
    named = make_pipeline(*steps).steps
    return SequencePipeline(named, memory=memory, transform_input=transform_input, verbose=verbose)
