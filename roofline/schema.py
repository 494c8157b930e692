"""Frozen dataclasses to plain JSON and back: what a file may hold is what a dataclass and a table of rules say.

A number that JSON has no sign for is written as null, with `<key>_reason` beside it.
"""

import json
import re
import stat
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from decimal import Decimal
from functools import cache, partial
from math import inf, isfinite, isnan, nan
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from roofline.escaping import one_line

REASONS = {"infinite": inf, "minus infinite": -inf, "not a number": nan}
# Longer values are cut in messages: an error is one or two lines.
SHOWN = 60
# Longer messages lose their middle: a key of a file may be as long as the file.
LONGEST_MESSAGE = 400
RESTORE = "restore it from version control or delete it"
MOST_DIGITS = 300  # what still fits a float
# A run of every experiment takes about a megabyte; what is larger than this is something else.
LARGEST_BYTES = 64 * 2**20


class DocumentError(ValueError):
    """A document is not what it must be; the message names the dotted path, the value and what is allowed.

    Keys and values are the file's, so the message is one line in which nothing acts on a terminal.
    """

    def __init__(self, message: str) -> None:
        text = one_line(message)
        half = LONGEST_MESSAGE // 2
        super().__init__(text if len(text) <= LONGEST_MESSAGE else f"{text[:half]} … {text[-half:]}")

    @classmethod
    def value(cls, where: str, value: object, allowed: str) -> "DocumentError":
        """The error for a value that stands at `where`."""
        shown = json.dumps(value, default=repr)
        shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"
        return cls(f"{where} is {shown}; allowed: {allowed}")


@dataclass(frozen=True)
class Rule:
    """What a value must be beyond its type, in words and as a test; `open` fields may also be infinite."""

    allowed: str
    holds: Callable[[Any], bool]
    open: bool = False


Rules = Mapping[tuple[type, str], Rule]


def encode(value: object) -> Any:
    """The plain JSON of a value: dataclasses become objects, NumPy scalars numbers, non-finite numbers null.

    What JSON cannot hold becomes the text that pytest-benchmark writes for it.
    """
    if isinstance(value, Mapping):
        return _encode_items(value.items())
    if is_dataclass(value) and not isinstance(value, type):
        return _encode_items((field.name, getattr(value, field.name)) for field in fields(value))
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    return _encode_scalar(value)


def _encode_items(items: Iterable[tuple[object, object]]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, item in items:
        plain[str(key)] = encode(item)
        reason = why_null(item)
        if reason:
            plain[f"{key}_reason"] = reason
    return plain


def _encode_scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, (Real, Decimal)):
        number = float(value)
        return number if isfinite(number) else None
    plain = value.tolist() if hasattr(value, "tolist") else value
    if type(plain) is type(value):
        return f"UNSERIALIZABLE[{value!r}]"
    return encode(plain)


def why_null(value: object) -> str:
    """Why a value, or an item of a list, is written as null; empty where none is."""
    if isinstance(value, (list, tuple)):
        reasons = ((index, why_null(item)) for index, item in enumerate(value))
        return "; ".join(f"item {index}: {reason}" for index, reason in reasons if reason)
    if isinstance(value, Integral) or not isinstance(value, (Real, Decimal)) or isfinite(value):
        return ""
    number = float(value)
    return "not a number" if isnan(number) else "infinite" if number > 0 else "minus infinite"


def decode(kind: Any, value: Any, where: str, rules: Rules) -> Any:
    """The value of type `kind` that plain JSON stands for.

    Raises:
        DocumentError: it is of another type, or breaks one of the `rules`.
    """
    if kind in SCALARS:
        return _decode_scalar(kind, value, where)
    origin = get_origin(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _decode_dataclass(kind, value, where, rules)
    if origin in (Union, types.UnionType):
        return _decode_union(kind, value, where, rules)
    if origin is tuple:
        return _decode_tuple(kind, value, where, rules)
    if origin is Mapping:
        return _decode_mapping(kind, value, where, rules)
    return _decode_scalar(kind, value, where)


def _decode_dataclass(kind: type, value: Any, where: str, rules: Rules) -> Any:
    if not isinstance(value, dict):
        raise DocumentError.value(where, value, describe(kind))
    hints = _hints(kind)
    found = {}
    for field in fields(kind):
        rule = rules.get((kind, field.name))
        at = f"{where}.{field.name}" if where else field.name
        if field.name in value:
            found[field.name] = _decode_field(hints[field.name], value, at, rule, rules)
        elif _required(field):
            raise DocumentError(f"{at} is missing; allowed: {rule.allowed if rule else describe(hints[field.name])}")
    return kind(**found)


def _decode_field(kind: Any, owner: dict[str, Any], at: str, rule: Rule | None, rules: Rules) -> Any:
    name = at.rpartition(".")[2]
    value = owner[name]
    infinite = rule and rule.open and value is None and _has_reason(owner, name)
    decoded = REASONS[owner[f"{name}_reason"]] if infinite else decode(kind, value, at, rules)
    if rule and decoded is not None and not rule.holds(decoded):
        raise DocumentError.value(at, value, rule.allowed)
    return decoded


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _decode_union(kind: Any, value: Any, where: str, rules: Rules) -> Any:
    options = get_args(kind)
    if value is None and type(None) in options:
        return None
    others = [option for option in options if option is not type(None)]
    if len(others) == 1:
        return decode(others[0], value, where, rules)
    if type(value) not in others:
        raise DocumentError.value(where, value, describe(kind))
    return value


def _decode_tuple(kind: Any, value: Any, where: str, rules: Rules) -> Any:
    if not isinstance(value, list):
        raise DocumentError.value(where, value, describe(kind))
    kinds = get_args(kind)
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        raise DocumentError.value(where, value, f"a list of {len(kinds)} items")
    return tuple(
        decode(kind, item, f"{where}[{index}]", rules)
        for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
    )


def _decode_mapping(kind: Any, value: Any, where: str, rules: Rules) -> Any:
    if not isinstance(value, dict):
        raise DocumentError.value(where, value, describe(kind))
    item_kind = get_args(kind)[1]
    numbers = float in (item_kind, *get_args(item_kind))
    open_keys = [key for key in value if numbers and value[key] is None and _has_reason(value, key)]
    special = {key: REASONS[value[f"{key}_reason"]] for key in open_keys}
    reasons = {f"{key}_reason" for key in special}
    plain = {key: item for key, item in value.items() if key not in reasons and key not in special}
    return special | {key: decode(item_kind, item, f"{where}.{key}", rules) for key, item in plain.items()}


def _has_reason(owner: dict[str, Any], key: str) -> bool:
    """Whether a null stands for a number that JSON has no sign for."""
    reason = owner.get(f"{key}_reason")
    return isinstance(reason, str) and reason in REASONS


def _decode_scalar(kind: Any, value: Any, where: str) -> Any:
    if get_origin(kind) is Literal:
        if value not in get_args(kind) or isinstance(value, bool):
            raise DocumentError.value(where, value, describe(kind))
        return value
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise DocumentError.value(where, value, describe(kind))
    return value


SCALARS: Mapping[Any, str] = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def describe(kind: Any) -> str:
    """A type in the words of a file's reader."""
    origin = get_origin(kind)
    if kind in SCALARS:
        return SCALARS[kind]
    if origin is Literal:
        return " or ".join(f'"{option}"' for option in get_args(kind))
    if origin in (Union, types.UnionType):
        return " or ".join(describe(option) for option in get_args(kind))
    if origin is tuple:
        return "a list"
    if is_dataclass(kind):
        return "an object with " + ", ".join(field.name for field in fields(kind) if _required(field))
    return "an object"


def non_finite(value: Any, where: str = "") -> str | None:
    """The dotted path of the first number in a document that is not finite, None where all are."""
    if isinstance(value, float):
        return None if isfinite(value) else where
    if isinstance(value, dict):
        steps = ((f"{where}.{key}" if where else key, item) for key, item in value.items())
    elif isinstance(value, list):
        steps = ((f"{where}[{index}]", item) for index, item in enumerate(value))
    else:
        return None
    return next((found for at, item in steps if (found := non_finite(item, at)) is not None), None)


def read(path: Path) -> Any:
    """The JSON of a file, in which each key stands once and each number is finite.

    Raises:
        DocumentError: it cannot be read or is no such JSON.
    """
    return json_of(_text_of(path))


def check_file(path: Path) -> None:
    """Refuse what would be read without end: a pipe, a device, a file that is far larger than any record.

    Raises:
        DocumentError: it is one of these, or cannot be looked at.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror}") from None
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):  # opening a folder fails at once
        raise DocumentError("is a pipe, a socket or a device; allowed: an ordinary file")
    if status.st_size > LARGEST_BYTES:
        raise DocumentError(f"is {status.st_size:,} bytes; allowed: up to {LARGEST_BYTES:,}, records are far smaller")


def _text_of(path: Path) -> str:
    check_file(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"is not UTF-8 text (byte {error.start}); {RESTORE}") from None
    if not text.strip("\0 \t\r\n"):
        raise DocumentError(f"is empty; {RESTORE}")
    return text


def json_of(text: str) -> Any:
    """The JSON of a text, in which each key stands once and each number is finite.

    Raises:
        DocumentError: it is no such JSON.
    """
    odd: list[str] = []
    number = partial(_number, odd)
    try:
        document = json.loads(
            text, object_pairs_hook=_once, parse_int=_whole, parse_float=number, parse_constant=number
        )
        where = non_finite(document) if odd else None
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        what = "ends in the middle, at" if cut else f"is not JSON ({error.msg}), at"
        place = f"line {error.lineno} column {error.colno}"
        raise DocumentError(f"{what} {place}; {RESTORE}") from None
    except RecursionError:
        raise DocumentError("is nested too deeply to be a record") from None
    if where is not None:
        raise DocumentError(f"{where} is NaN or infinite; allowed: a finite number, or null with its reason beside it")
    return document


def _number(odd: list[str], digits: str) -> float:
    """The number that digits, or NaN and its like, stand for; one that is not finite is kept in `odd`."""
    number = float(digits)
    if not isfinite(number):
        odd.append(digits)
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    item = dict(pairs)
    if len(item) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DocumentError(f"key {twice!r} stands twice in one object; allowed: once")
    return item


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise DocumentError(f"holds an integer of {len(digits)} digits ({digits[:10]}…); allowed: {MOST_DIGITS}")
    return int(digits)


def text_of(document: Mapping[str, Any]) -> str:
    """The text of a record's file: indented for people and version control, each list of numbers on one line."""
    text = json.dumps(document, indent=1, allow_nan=False)
    # A line break never stands inside a JSON string, so only real lists match.
    return re.sub(r"\[\n[^\[\]{}\"]*\]", lambda numbers: " ".join(numbers[0].split()), text) + "\n"
