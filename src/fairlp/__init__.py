"""fairlp: fair allocation of many resources to many users, as models that people can read.

>>> import fairlp
>>> instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], resources=["cpu", "memory"])
>>> fairlp.allocate(instance, "drf").totals.round(6).to_dict()
{'A': 3.0, 'B': 2.0}
"""

from . import _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
