"""Runs campaigns: inputs, files and faults by the thousand, of the kinds that are named.

A name may also be one of the groups "files", "inputs" and "faults".
"""

import sys
from importlib import import_module

import _campaign  # noqa: F401 (before numpy)
from _allocator import ensure_loaded
from _runner import main

# By group: the names of campaigns, and the modules that have them.
GROUPS = {
    "files": {
        "conll": "_conll",
        "templates": "_templates",
        "dumps": "_dumps",
        "models": "_files",
        "taggers": "_files",
        "crfsuite": "_files",
        "folders": "_files",
        "commands": "_commands",
    },
    "inputs": {
        "classifiers": "_classifiers",
        "replaced": "_classifiers",
        "transformers": "_transformers",
        "metrics": "_metrics",
    },
    "faults": {
        "kills": "_saves",
        "concurrent": "_saves",
        "disks": "_saves",
        "logs": "_logs",
        "requests": "_requests",
        "interrupts": "_interrupts",
        "allocations": "_memory",
        "kernels": "_memory",
        "here": "_determinism",
        "elsewhere": "_determinism",
        "threads": "_determinism",
        "extremes": "_extremes",
    },
    "sanitized": {
        "tests": "_sanitize",
        "bounds": "_sanitize",
        "sanitized inputs": "_sanitize",
        "sanitized threads": "_sanitize",
    },
}
MODULES = {name: module for group in GROUPS.values() for name, module in group.items()}

if __name__ == "__main__":
    argv = [name for given in sys.argv[1:] for name in GROUPS.get(given, [given])]
    modules = dict.fromkeys(MODULES[name] for name in argv if name in MODULES)
    if "_memory" in modules:
        ensure_loaded()
    campaigns = [one for module in modules for one in import_module(module).CAMPAIGNS]
    sys.exit(main(f"{__doc__}\nNames: {', '.join(MODULES)}.", campaigns, argv))
