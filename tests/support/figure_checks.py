"""What the text and the labels of a figure say."""

from __future__ import annotations


def legend_names(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def outside(figure):
    """Whether the legend lies to the right of all axes."""
    figure.draw_without_rendering()
    edge = figure.legends[0].get_window_extent().x0
    return all(axis.get_window_extent().x1 <= edge for axis in figure.axes)


def tick_labels(axis):
    return [text.get_text() for text in axis.get_xticklabels()]
