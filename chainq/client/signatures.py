"""Signatures that name each keyword: what `help` and notebooks show of `**options`."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict


def show_keywords(functions: Iterable[object], defaults: Mapping[str, object]) -> None:
    """Give functions with `**options: Unpack[SomeTypedDict]` a signature with its keywords.

    `defaults`: by keyword, None for the others. Editors and type checkers read the annotation itself.
    """
    for function in functions:
        if inspect.isfunction(function):
            _expand(function, defaults)


def _expand(function: Callable[..., Any], defaults: Mapping[str, object]) -> None:
    signature = inspect.signature(function)
    *named, last = signature.parameters.values() or (None,)
    if last is None or last.kind is not last.VAR_KEYWORD or not is_typeddict(options := _unpacked(last.annotation)):
        return
    kinds = get_type_hints(options)
    keywords = [
        inspect.Parameter(name, last.KEYWORD_ONLY, default=defaults.get(name), annotation=kind)
        for name, kind in kinds.items()
    ]
    expanded = signature.replace(parameters=[*named, *keywords])
    function.__signature__ = expanded  # type: ignore[attr-defined]


def _unpacked(annotation: object) -> object:
    """Return the type in `Unpack[...]`; None for anything else."""
    return get_args(annotation)[0] if get_origin(annotation) is not None and get_args(annotation) else None
