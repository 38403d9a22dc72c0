"""Mechanisms of GPU clusters that were published since 2020: OEF, AlloX and Shockwave."""
