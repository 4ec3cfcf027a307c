"""RegularisationDisplay: scores against a regularisation parameter."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._axes import new_axes, plain


class RegularisationDisplay:
    """Cross-validated scores against one parameter, with a line for each value of another.

    If the search varied further parameters, their best values count. Bands show plus and minus one
    standard deviation over the folds; a star marks the best score.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Values of the first parameter, in increasing order.
    scores, deviations : mapping to ndarray of shape (n_values,)
        Mean scores, and their standard deviations, for each value of the second parameter, or
        for the key None if there is no second parameter; NaN if there is no score.
    param : str, default="sigma"
        Name of the first parameter.
    by : str, optional
        Name of the second parameter.
    metric : str, default="score"
        Name of the score.

    Attributes
    ----------
    best : tuple
        The best value of the first parameter, and of the second.
    lines_ : list of matplotlib Line2D
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.datasets import make_addresses
    >>> from sklearn_crcrf.display import RegularisationDisplay
    >>> grid = {"sigma": [0.5, 1.0, 2.0], "mu_oov": [0.5, 1.0]}
    >>> search = GridSearchCV(EmpiricalCRF(), grid, cv=2).fit(*make_addresses(50, random_state=0))
    >>> display = RegularisationDisplay.from_search(search, "sigma", by="mu_oov")
    >>> display.values, list(display.scores)
    (array([0.5, 1. , 2. ]), [0.5, 1.0])
    """

    def __init__(
        self,
        values: np.ndarray,
        scores: Mapping[Any, np.ndarray],
        deviations: Mapping[Any, np.ndarray],
        param: str = "sigma",
        by: str | None = None,
        metric: str = "score",
    ):
        self.values, self.scores, self.deviations = values, scores, deviations
        self.param, self.by, self.metric = param, by, metric
        tops = {key: np.nanmax(of) for key, of in scores.items() if not np.isnan(of).all()}
        best = max(tops, key=lambda key: tops[key])
        self.best = float(values[np.nanargmax(scores[best])]), best

    @classmethod
    def from_search(
        cls,
        search: Any,
        param: str = "sigma",
        *,
        by: str | None = None,
        metric: str = "score",
        ax: Any = None,
        **options: Any,
    ) -> "RegularisationDisplay":
        """Draw the scores of a fitted search.

        Parameters
        ----------
        search : GridSearchCV, another fitted search, or its ``cv_results_``
        param : str, default="sigma"
            A parameter of the search with numbers as values; in pipelines the last part of its
            name is enough, such as "sigma" for "crf__sigma".
        by : str, optional
            A second parameter; each of its values has a line.
        metric : str, default="score"
            Name of the metric, if the search has several.
        ax : matplotlib Axes, optional
        **options
            As in :meth:`plot`.

        Returns
        -------
        RegularisationDisplay

        Raises
        ------
        ValueError
            If there is no such parameter or metric, or values are not numbers.
        """
        results = getattr(search, "cv_results_", search)
        if f"mean_test_{metric}" not in results:
            raise ValueError(f"metric: the search has no scores named {metric!r}")
        mean, deviation = (results[f"{what}_test_{metric}"] for what in ("mean", "std"))
        run_values = _numbers(results["params"], param)
        values = np.unique(run_values)
        keys = [None] * len(run_values) if by is None else _numbers(results["params"], by).tolist()
        different = [None] if by is None else sorted(set(keys))
        scores = {key: np.full(len(values), np.nan) for key in different}
        deviations = {key: of.copy() for key, of in scores.items()}
        for run in np.argsort(-mean)[::-1]:  # so that the best comes last
            if not np.isnan(mean[run]):
                at = np.searchsorted(values, run_values[run])
                scores[keys[run]][at], deviations[keys[run]][at] = mean[run], deviation[run]
        return cls(values, scores, deviations, param, by, metric).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, xscale: str = "log") -> "RegularisationDisplay":
        """Draw the display on axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        xscale : str, default="log"
            Scale of the first parameter. Infinite values are drawn after all others, and on a
            logarithmic scale 0 is drawn before them.

        Returns
        -------
        RegularisationDisplay
        """
        ax = new_axes(self, ax, (6.5, 4.2))
        places = _places(self.values, xscale)
        colours = ["C0"]
        if len(self.scores) > 1:
            from matplotlib import colormaps

            colours = list(colormaps["viridis"](np.linspace(0.0, 0.85, len(self.scores))))
        self.lines_ = []
        for colour, (key, mean) in zip(colours, self.scores.items(), strict=True):
            name = None if key is None else f"{plain(self.by)} = {key:g}"
            (line,) = ax.plot(places, mean, "o-", color=colour, markersize=4, label=name)
            spread = self.deviations[key]
            ax.fill_between(places, mean - spread, mean + spread, color=colour, alpha=0.12, lw=0)
            self.lines_.append(line)
        value, key = self.best
        at = np.searchsorted(self.values, value)
        star = {"marker": "*", "s": 160, "color": "black", "zorder": 3}
        ax.scatter(places[at], self.scores[key][at], label="best", **star)
        ax.set(xscale=xscale, xlabel=plain(self.param), ylabel=plain(self.metric))
        ax.set_xticks(places, [f"{value:g}" for value in self.values])
        ax.minorticks_off()
        ax.legend(fontsize="small")
        return self


def _numbers(params: list[dict[str, Any]], name: str) -> np.ndarray:
    """Return the values of a parameter in all runs of a search."""
    full = [key for key in params[0] if key == name or key.endswith(f"__{name}")]
    if len(full) != 1:
        raise ValueError(f"the search has {len(full)} parameters {name!r}: {list(params[0])}")
    try:
        return np.array([run[full[0]] for run in params], dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"values of {full[0]!r} are not numbers") from None


def _places(values: np.ndarray, xscale: str) -> np.ndarray:
    """Choose where values are drawn, with infinity and, on a logarithmic scale, 0."""
    inside = np.isfinite(values) & ((values > 0) | (xscale != "log"))
    if inside.all() or not inside.any():
        return values
    low, high = values[inside].min(), values[inside].max()
    step = 3.0 if xscale == "log" else max(high - low, 1.0) / 3.0
    before, behind = (low / step, high * step) if xscale == "log" else (low - step, high + step)
    return np.where(inside, values, np.where(values > high, behind, before))
