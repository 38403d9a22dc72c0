"""The names of the toolkit, and where each lives: the one list of them (``__init__.py`` reads it)."""

from .. import tolerances as tolerances
from .._lazy import attach as attach
from ..cli.app import ExitCode as ExitCode, command as command, tell as tell
from ..cli.output import (
    DrawnReportOptions as DrawnReportOptions,
    ReportOptions as ReportOptions,
    TitledTable as TitledTable,
    say as say,
)
from ..cli.parameters import (
    MethodOptions as MethodOptions,
    instance_argument as instance_argument,
    load_instance as load_instance,
    named_option as named_option,
    read_options as read_options,
    read_pairs as read_pairs,
    split_names as split_names,
    standard_input as standard_input,
)
from ..keywords import lists as lists
from ..models.files.instances import (
    read_document as read_document,
    write_document as write_document,
    yaml_document as yaml_document,
)
from ..models.files.plain_data import require_form as require_form
from ..models.files.tables import (
    as_numbers as as_numbers,
    csv_text as csv_text,
    read_table as read_table,
)
from ..models.files.whole_files import (
    drafts as drafts,
    home as home,
    opened as opened,
    read_text as read_text,
    require_folder as require_folder,
    write_text as write_text,
)
from ..models.instances.arithmetic import (
    largest_first as largest_first,
    quantity as quantity,
    quotients as quotients,
    scaled as scaled,
    whole_table as whole_table,
)
from ..models.instances.conditions import condition_text as condition_text
from ..progress import progress_bar as progress_bar
from ..registry import Registry as Registry, make_callable as make_callable

__all__ = [
    "DrawnReportOptions",
    "ExitCode",
    "MethodOptions",
    "Registry",
    "ReportOptions",
    "TitledTable",
    "as_numbers",
    "attach",
    "command",
    "condition_text",
    "csv_text",
    "drafts",
    "home",
    "instance_argument",
    "largest_first",
    "lists",
    "load_instance",
    "make_callable",
    "named_option",
    "opened",
    "progress_bar",
    "quantity",
    "quotients",
    "read_document",
    "read_options",
    "read_pairs",
    "read_table",
    "read_text",
    "require_folder",
    "require_form",
    "say",
    "scaled",
    "split_names",
    "standard_input",
    "tell",
    "tolerances",
    "whole_table",
    "write_document",
    "write_text",
    "yaml_document",
]
