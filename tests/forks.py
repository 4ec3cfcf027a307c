"""The command line in a fork of this process, which has imported everything already."""

import os
import signal
import sys
import traceback

import pytest

from sklearn_crcrf.__main__ import main

__all__ = ["Fork", "needs_fork", "run_in_fork"]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def run_in_fork(argv, folder=".", encoding=None):
    """Run the command line as a process of its own would, and end with it.

    Its standard streams are file descriptors 0, 1 and 2, with an encoding.
    """
    status = 1
    try:
        os.chdir(folder)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(fd, mode, encoding=encoding) for fd, mode in enumerate("rww")
        )
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["sklearn-crcrf", *map(str, argv)]
        status = main()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


class Fork:
    """The command line, with pipes to its standard output and standard error.

    What it writes must be read: a pipe holds little. At the end of a ``with`` statement it is
    killed, if it has not ended.
    """

    def __init__(self, *argv, stdin=os.devnull, **options):
        out, err = os.pipe(), os.pipe()
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            for fd, end in enumerate((os.open(stdin, os.O_RDONLY), out[1], err[1])):
                os.dup2(end, fd)
            for fd in (*out, *err):
                os.close(fd)
            run_in_fork(argv, **options)
        for _, end in (out, err):
            os.close(end)
        self.stdout, self.stderr = os.fdopen(out[0], "rb"), os.fdopen(err[0], "rb")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stdout.close()
        self.stderr.close()
        if self.returncode is None:
            self.send_signal(signal.SIGKILL)
            self.wait()

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        """The exit status, as of ``subprocess.Popen``."""
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode
