"""Settings that must hold before numpy and scipy are imported."""

import os

# Without it scikit-learn leaves one of its common tests out.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
