"""How large a file may be and how deep its data: what is beyond ends in one clear line, not in a full memory."""

from __future__ import annotations

from typing import Final

#: Bytes of one file, also of what a compressed one holds.
MOST_BYTES: Final = 2**30
#: Lists and mappings within one another in a document, of JSON or YAML; those of fairlp have at most six.
MOST_DEPTH: Final = 50
#: Values that the aliases of a YAML file may stand for, all together: what is written twice, not doubled thirty times.
MOST_REPEATED: Final = 1_000_000
#: Files in one archive of arrays.
MOST_ARRAYS: Final = 1_000
#: Characters of the header of an array, and of a document beside arrays.
MOST_HEADER: Final = 10_000
