"""More training data without tokens, such as a batch of empty sequences."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from sklearn.exceptions import NotFittedError

from ..labels.encoding import LabelIds
from ..utils.replaced_parts import check_fitted

Method = TypeVar("Method", bound=Callable)


class NoTokensError(ValueError):
    """There is nothing to train on, since all sequences are empty."""


def may_bring_no_tokens(method: Method) -> Method:
    """Let a method that trains further change nothing if its data has no tokens.

    The first data needs a token: it tells what X holds.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> crf = EmpiricalCRF().partial_fit([["the", "dog"]], [["D", "N"]])
    >>> crf.partial_fit([[]], [[]]).predict([["dog"]]).tolist()
    [['N']]
    """

    @wraps(method)
    def train(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        except NoTokensError as error:
            try:
                check_fitted(self)
            except NotFittedError:
                raise error from None
            classes = signature(method).bind(self, *args, **options).arguments.get("classes")
            if classes is not None:
                LabelIds(self.classes_).require(classes)
            return self

    return train  # type: ignore[return-value]
