"""Figures, and the HTML pages with them: everything of the report that draws.

The extra is checked here, once, since a package is imported before its modules.
"""

from ..._extras import require as _require

_require("report", "matplotlib", "jinja2")
