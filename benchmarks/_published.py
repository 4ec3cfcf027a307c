"""What the papers print: accuracies, F1 and seconds of their tables."""

from typing import NamedTuple


class Published(NamedTuple):
    """Per cent of all, known and unknown tokens, and seconds of training."""

    overall: float
    known: float
    unknown: float
    seconds: float

    @property
    def unknown_share(self) -> float:
        """Per cent of the tokens that are unknown, which the three accuracies imply."""
        return 100 * (self.known - self.overall) / (self.known - self.unknown)


# [EP], tables 2 to 7, by split of Brown, and Dutch names: the two empirical trainings, standard
# training by CRF++ and piecewise training by MALLET.
EP1 = {
    "1000-4000": Published(86.7, 94.9, 55.9, 0.4),
    "2500-2500": Published(90.0, 95.5, 58.2, 0.6),
    "4000-1000": Published(91.7, 96.1, 60.5, 0.9),
    "17311-16312": Published(94.18, 96.4, 60.8, 2.2),
    "32623-1000": Published(95.6, 96.9, 70.1, 3.9),
    "ner": Published(96.11, 98.8, 72.6, 1.6),
}
EP2 = {
    "1000-4000": Published(86.8, 94.9, 56.3, 4),
    "2500-2500": Published(90.2, 95.6, 58.6, 13),
    "4000-1000": Published(91.9, 96.2, 61.4, 24),
    "17311-16312": Published(94.2, 96.4, 61.0, 125),
    "32623-1000": Published(95.6, 96.8, 70.4, 294.9),
    "ner": Published(96.14, 98.8, 72.7, 53),
}
CRFPP = {
    "1000-4000": Published(82.6, 89.7, 56.2, 7177),
    "2500-2500": Published(87.6, 92.6, 58.8, 33853),
    "4000-1000": Published(90.1, 94.0, 62.1, 70298),
    "17311-16312": Published(93.2, 95.3, 62.3, 1064385),
    "32623-1000": Published(95.4, 96.1, 71.7, 4571807),
    "ner": Published(96.13, 98.2, 77.4, 794),
}
PIECEWISE = {
    "1000-4000": Published(69.4, 75.3, 47.5, 30705),
    "2500-2500": Published(75.5, 80.0, 49.5, 66258),
    "4000-1000": Published(79.25, 83.0, 52.5, 138406),
    "17311-16312": Published(78.9, 80.8, 50.4, 1946706),
    "32623-1000": Published(82.9, 84.0, 59.9, 3791648),
    "ner": Published(94.4, 97.2, 69.6, 4617),
}
# [ECRN], tables III and IV.
ECRN = {"32623-1000": Published(95.6, 96.9, 70.5, 3.9), "ner": Published(96.23, 98.8, 73.7, 1.3)}


class Segments(NamedTuple):
    """F1 of segments and per cent of right sentences."""

    f1: float
    sentences: float


# [MCE], chunks of CoNLL-2000 and English names of CoNLL-2003: table 1, whose MCE starts from
# zeros, and table 2, whose MCE starts from the weights of MAP.
MCE_1 = {
    "MCE-F (sig)": (Segments(93.96, 60.44), Segments(84.72, 78.72)),
    "MCE (log)": (Segments(93.92, 60.19), Segments(84.30, 78.02)),
    "MCE (sig)": (Segments(93.85, 60.14), Segments(83.82, 77.52)),
    "MAP": (Segments(93.71, 59.15), Segments(83.79, 77.39)),
    "ML": (Segments(93.19, 56.26), Segments(82.39, 75.71)),
}
MCE_2 = {
    "MCE-F (sig)": (Segments(94.03, 60.74), Segments(85.29, 79.26)),
    "MCE (sig)": (Segments(93.97, 60.59), Segments(84.57, 77.71)),
}
