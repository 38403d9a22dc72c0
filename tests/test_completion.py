"""What Tab offers: in IPython, with and without jedi, and in editors that ask jedi for a file's text."""

import inspect

import pytest

import fairlp
from profiles import chequered

pytest.importorskip("jedi")
completer = pytest.importorskip("IPython.core.completer")
shell = pytest.importorskip("IPython.core.interactiveshell")

CODE = """
import fairlp
from fairlp import Index, Model, examples

n = Index("n", ["ann", "bob"], "user")
model = Model("m", indices=(n,))
x = model.variable("x", n, upper=3)
d = model.parameter("d", n, [1, 2])
near = model.subset("near", n, [True, False])
formula = 2 * x + 1
row = model.constraint("total", (d * x).sum() <= 4)
model.maximize(x.sum())
program = model.compile()
solution = model.solve()
status = solution.status
options = fairlp.Options()
instance = examples.ghodsi()
allocation = fairlp.allocate(instance, "drf")
mechanism = fairlp.mechanisms("drf")
"""
#: What has a name above, and its class.
OBJECTS = {
    "n": "Index", "model": "Model", "x": "Variable", "d": "Parameter", "near": "Subset", "formula": "Expression",
    "row": "Constraint", "program": "Program", "solution": "Solution", "status": "Status", "options": "Options",
    "instance": "Instance", "allocation": "Allocation", "mechanism": "Mechanism",
}  # fmt: skip
#: Public classes of which no example stands above: those that users write, and what they are given.
WITHOUT_EXAMPLE = {
    "Arrivals", "Backend", "Capability", "ConcavePath", "FairlpError", "FairlpWarning", "NodeRule", "Path",
    "Raw", "Region", "RulePath", "Termination",
}  # fmt: skip


def members(kind):
    """Public members of a class: what completion has to offer."""
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.fixture(scope="module")
def interactive():
    """An IPython shell that ran the code above."""
    instance = shell.InteractiveShell.instance()
    result = instance.run_cell(CODE)
    assert result.success
    yield instance
    shell.InteractiveShell.clear_instance()


def offered(interactive, text, with_jedi):
    interactive.Completer.use_jedi = with_jedi
    with completer.provisionalcompleter():
        return {
            completion.text.lstrip(".")
            for completion in interactive.Completer.completions(text, len(text))
        }


def test_every_public_class_has_an_example_or_a_reason():
    classes = {name for name in fairlp.__all__ if inspect.isclass(getattr(fairlp, name))}
    assert classes == set(OBJECTS.values()) | WITHOUT_EXAMPLE


@pytest.mark.parametrize(("with_jedi", "name"), chequered([True, False], list(OBJECTS)))
def test_tab_in_ipython_offers_the_members(interactive, name, with_jedi):
    kind = getattr(fairlp, OBJECTS[name])
    assert members(kind) <= offered(interactive, f"{name}.", with_jedi)


@pytest.mark.parametrize("with_jedi", [True, False])
def test_tab_in_ipython_offers_the_public_names(interactive, with_jedi):
    names = {name for name in fairlp.__all__ if not name.startswith("_")}
    assert offered(interactive, "fairlp.", with_jedi) == names


def test_tab_in_brackets_offers_names_and_labels(interactive):
    assert {"x", "d", "near", "total", "n"} == offered(interactive, "model['", True)
    assert {"ann", "bob"} == offered(interactive, "x['", True)


def test_tab_in_brackets_of_a_table_offers_its_names(interactive):
    interactive.run_cell(
        "variables, values, slack = model.variables, solution.values, solution.slack"
    )
    assert {"x"} == offered(interactive, "variables['", True)
    assert {"x"} == offered(interactive, "values['", True)
    assert {"total"} == offered(interactive, "slack['", True)
