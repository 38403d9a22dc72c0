"""A back end for a process of its own: it prints where answers go, and sleeps, dies or eats memory as it is told."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time

import numpy as np

from own_back_ends import Dual

#: Rows of a program → the mood that it brings.
SLEEPS, DIES, EATS, HANGS, STARTS = 27, 28, 29, 30, 31


class Moody(Dual):
    """`Dual`, loud, and with moods."""

    name = "moody"

    def run(self, program, options):
        os.write(1, b"a licence, a banner, progress\n" * 100)
        if program.n_rows == SLEEPS:
            time.sleep(60)
        if program.n_rows == DIES:
            os._exit(7)
        if program.n_rows == EATS:
            np.ones(2**40)
        if program.n_rows == HANGS:
            ctypes.PyDLL(None).sleep(60)  # in C, without letting go of the interpreter
        if program.n_rows == STARTS:
            code = "import time; time.sleep(60)  # planted-by-moody"
            subprocess.run([sys.executable, "-c", code], check=False)
        return super().run(program, options)
