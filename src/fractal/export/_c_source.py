"""C source from the templates in `templates/`.

The templates are C in double precision, with statements of Jinja in lines that begin with `//%`.
`NAME` stands for the prefix of the names. For float32, types, constants and functions of libm are
replaced by those of single precision.
"""

import re
from typing import Any

import numpy as np
from jaxtyping import Float

from .. import __version__
from .._extras import require

_PER_LINE = {"float32": 8, "float64": 4}  # numbers
_COMMENT = re.compile(r"(/\*.*?\*/)", re.DOTALL)
_CONSTANT = re.compile(r"(?<![\w.])(\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+)(?![\w.])")
_FUNCTION = re.compile(r"\b(exp|expm1|log1p|sin|cos|sqrt|tanh)\(")


def render(template: str, prefix: str, dtype: str, **values: Any) -> bytes:
    """The text of a template with these values, in a precision."""
    require("export", "jinja2", package="export to C")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fractal.export"),
        block_start_string="//%",
        block_end_string="\n",
        variable_start_string="@{",
        variable_end_string="}@",
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    text = environment.get_template(template).render(
        version=__version__,
        guard=f"{prefix.upper()}_H",
        numbers=lambda values, indent=4: _numbers(values, dtype, indent),
        **values,
    )
    text = text.replace("NAME", prefix)
    return (_single(text) if dtype == "float32" else text).encode()


def _single(text: str) -> str:
    """The source in single precision."""
    parts = _COMMENT.split(text.replace("double", "float"))
    # The odd parts are comments, whose numbers stay.
    parts[::2] = [_FUNCTION.sub(r"\1f(", _CONSTANT.sub(r"\1f", part)) for part in parts[::2]]
    return "".join(parts)


def _numbers(values: Float[np.ndarray, "..."], dtype: str, indent: int) -> str:
    """The constants of an initializer, exact in their precision."""
    shown, size = list(map(str, np.ravel(values).astype(dtype))), _PER_LINE[dtype]
    lines = [", ".join(shown[i : i + size]) for i in range(0, len(shown), size)]
    if len(lines) == 1:
        return lines[0]
    start = f"\n{' ' * (indent + 4)}"
    return start + f",{start}".join(lines)
