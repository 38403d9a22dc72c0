"""The command line as ``python -m fairlp``."""

from .cli import main

main()
