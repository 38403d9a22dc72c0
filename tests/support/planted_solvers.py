"""Back ends for processes of their own: one that sleeps, one that dies, one that eats memory, and one that lies."""

from __future__ import annotations

import os
import time

import numpy as np

import fairlp
from own_back_ends import Dual


class Sleeper(Dual):
    name = "sleeper"

    def run(self, program, options):
        if program.n_rows > 20:  # the smallest are solved before any clock runs
            time.sleep(60)
        return super().run(program, options)


class Dying(Dual):
    name = "dying"

    def run(self, program, options):
        if program.n_rows > 20:
            os._exit(7)
        return super().run(program, options)


class Hungry(Dual):
    name = "hungry"

    def run(self, program, options):
        if program.n_rows > 20:
            np.ones(2**40)
        return super().run(program, options)


class Loud(Dual):
    """Prints where answers go, and is right."""

    name = "loud"

    def run(self, program, options):
        os.write(1, b"a licence, a banner, progress\n" * 100)
        return super().run(program, options)


class Interrupting(fairlp.Backend):
    """Stands for Ctrl-C: asking it ends everything."""

    name = "interrupting"
    capabilities = frozenset({fairlp.Capability.LP})
