"""Progress in a notebook without widgets is a text that is written over, and in a pipe lines."""

import rich.console

from fairlp import progress


def notebook(monkeypatch, widgets):
    monkeypatch.setattr(rich.console.Console, "is_jupyter", True, raising=False)
    monkeypatch.setattr(rich.console.Console, "__init__", lambda self, **options: None)
    monkeypatch.setattr(rich.console.Console, "is_terminal", False, raising=False)
    monkeypatch.setattr(progress, "find_spec", lambda name: object() if widgets else None)


def test_without_widgets_it_is_a_line_that_is_written_over(monkeypatch, capsys):
    notebook(monkeypatch, widgets=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_TEXTS", 0.0)
    with progress.progress_bar("runs", 4, 1, None) as count:
        count()
        count(2)
    written = capsys.readouterr().err
    assert written.split("\r")[1:] == ["runs: 2 of 4 (50%)", "runs: 4 of 4 (100%)\n"]


def test_a_short_run_writes_nothing_and_a_long_one_now_and_then(monkeypatch, capsys):
    notebook(monkeypatch, widgets=False)
    for patience, lines in ((3600.0, 0), (0.0, 2)):
        monkeypatch.setattr(progress, "PATIENCE", patience)
        monkeypatch.setattr(progress, "SECONDS_BETWEEN_TEXTS", 3600.0)
        with progress.progress_bar("runs", 1000, 0, None) as count:
            for _ in range(1000):
                count()
        assert capsys.readouterr().err.count("\r") == lines


def test_in_a_pipe_a_long_run_writes_lines_and_a_short_one_nothing(monkeypatch, capsys):
    with progress.progress_bar("items", 4, 0, None) as count:
        count(4)
    assert capsys.readouterr().err == ""

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with progress.progress_bar("items", 4, 0, None) as count:
        count()
        count(3)
    assert capsys.readouterr().err == "items: 1 of 4 (25%)\nitems: 4 of 4 (100%)\n"
