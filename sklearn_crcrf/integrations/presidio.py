"""A recognizer of Presidio that finds personal data by a TextTagger."""

from collections.abc import Mapping
from typing import Any

try:
    from presidio_analyzer import AnalysisExplanation, LocalRecognizer, RecognizerResult
    from presidio_analyzer.nlp_engine import NerModelConfiguration
except ImportError as error:
    raise ImportError(
        "sklearn_crcrf.integrations.presidio needs presidio-analyzer: pip install presidio-analyzer"
    ) from error

from ..model_files import load_model


class SpanRecognizer(LocalRecognizer):
    """Finds entities of Presidio by a :class:`~sklearn_crcrf.text.TextTagger`.

    Parameters
    ----------
    model : TextTagger, or path to its file
        As :func:`~sklearn_crcrf.model_files.save_model` writes it.
    entities : mapping of str to str, optional
        The entity of Presidio for each label of spans; other labels are left out. By default as
        Presidio names the labels of other models, such as "PERSON" for "PER", and a label that it
        does not know stays as it is.
    language : str, default="en"
        Which language Presidio asks this recognizer about.
    **kwargs : parameters of ``presidio_analyzer.EntityRecognizer``
        Such as ``name``, ``context`` and ``score_thresholds``.

    Notes
    -----
    The score of a result is the probability of the span. Presidio's own recognizers of patterns
    give fixed scores, which are no probabilities.
    """

    def __init__(
        self,
        model: Any,
        entities: Mapping[str, str] | None = None,
        *,
        language: str = "en",
        **kwargs: Any,
    ):
        self.tagger: Any = model if hasattr(model, "predict") else load_model(model).estimator
        labels = self.tagger.labels_
        if entities is None:
            known = NerModelConfiguration().model_to_presidio_entity_mapping
            entities = {label: known.get(label, label) for label in labels}
        unknown = [label for label in entities if label not in labels]
        if unknown:
            raise ValueError(f"entities: the model has no label {unknown[0]!r}, but {labels}")
        self.entities = dict(entities)
        names = list(dict.fromkeys(self.entities.values()))
        super().__init__(names, supported_language=language, **kwargs)

    def load(self) -> None:
        """Do nothing: the model was read when this recognizer was made."""

    def analyze(
        self, text: str, entities: list[str] | None, nlp_artifacts: Any = None
    ) -> list[RecognizerResult]:
        """Find entities in a text.

        Parameters
        ----------
        text : str
        entities : list of str, or None
            The entities to look for; None for all.
        nlp_artifacts : object, default=None
            Not used.

        Returns
        -------
        list of RecognizerResult
        """
        results = []
        for start, end, label, probability in self.tagger.predict([text])[0]:
            entity = self.entities.get(label)
            if entity is None or (entities and entity not in entities):
                continue
            explanation = AnalysisExplanation(
                recognizer=self.name,
                original_score=probability,
                textual_explanation=f"{label} with probability {probability:.3f}",
            )
            results.append(RecognizerResult(entity, start, end, probability, explanation))
        return results
