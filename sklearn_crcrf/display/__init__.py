"""Displays of labelled sequences, of models, and of their errors.

Labelled sequences become HTML for notebooks, and plain text elsewhere. The HTML needs neither
scripts nor a network, and all data in it is escaped. It follows the light or dark scheme of the
page, or else of the browser, and can be printed.

Models and errors are drawn by matplotlib, in the style of scikit-learn: ``from_estimator``,
``from_predictions`` or a similar method makes a display and draws it. The drawn data are attributes
of the display, and ``plot`` draws it again, on given axes.
"""

from ..utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
