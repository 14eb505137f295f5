"""Extensions of the API pages: examples of docstrings as code, and signatures of settings."""

import re

import griffe

_EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> ).+\n?)*)+", re.MULTILINE)


class Doctests(griffe.Extension):
    """Put each run of `>>>` lines and their output into a fence."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )


class Settings(griffe.Extension):
    """Add the constructors of validated dataclasses, whose decorator griffe does not know."""

    def on_class_members(self, *, cls: griffe.Class, **_: object) -> None:
        """Make `__init__` from the fields."""
        if not any(str(decorator.value).startswith("_validated") for decorator in cls.decorators):
            return
        kind = griffe.ParameterKind.positional_or_keyword
        parameters = [griffe.Parameter("self", kind=kind)]
        for name, field in cls.attributes.items():
            if name == "_":
                kind = griffe.ParameterKind.keyword_only
                continue
            found = field.value
            if str(found).startswith("dataclasses.field"):
                found = "<factory>"
            parameters.append(
                griffe.Parameter(name, annotation=field.annotation, kind=kind, default=found)
            )
        method = griffe.Function("__init__", parameters=griffe.Parameters(*parameters))
        cls.set_member("__init__", method)
