"""Settings that must hold before numpy and scipy are imported."""

import os
import signal

# Without it scikit-learn leaves one of its common tests out.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# What is started in the background of a shell ignores Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("tests", deadline=None, max_examples=25)
settings.load_profile("tests")
