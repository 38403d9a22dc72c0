"""A back end for a process of its own: it prints where answers go, and sleeps, dies or eats memory as it is told."""

from __future__ import annotations

import os
import time

import numpy as np

from own_back_ends import Dual

#: Rows of a program → what goes wrong with it.
SLEEPS, DIES, EATS = 27, 28, 29


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
        return super().run(program, options)
