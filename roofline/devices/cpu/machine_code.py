"""What is in a function's assembly text: instructions counted by class, and a hash of the code."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256

# (class, what matches one of its instructions, how many operations or vectors that one stands for). In AT&T syntax the
# destination stands last; a store's destination is memory. Vector moves to and from the stack are spills.
X86_MOVE = r"v?mov(?:[au]p[sd]|ss|dq[au](?:32|64)?)\s+"
X86_CLASSES = (
    ("fma", r"vf(?:n?m)(?:add|sub)\d{3}[ps]s\s", 1),
    ("mul", r"v?mul[ps]s\s", 1),
    ("add", r"v?add[ps]s\s", 1),
    ("fma64", r"vf(?:n?m)(?:add|sub)\d{3}[ps]d\s", 1),
    ("mul64", r"v?mul[ps]d\s", 1),
    ("add64", r"v?add[ps]d\s", 1),
    ("mul_int", r"v?pmulld\s", 1),
    ("add_int", r"v?paddd\s", 1),
    ("dot_bf16", r"vdpbf16ps\s", 1),
    ("store_nt", r"v?movnt(?:ps|pd|dq|i)\w*\s", 1),
    ("spill", X86_MOVE + r".*\(%r[sb]p\)", 1),
    ("load", X86_MOVE + r"[^%$\n]*\(.*\), %[xyz]mm", 1),
    ("store", X86_MOVE + r"%[xyz]mm\d+, .*\(", 1),
    ("prefetch", r"prefetch\w+\s", 1),
    ("call", r"call[ql]?\s", 1),
)
AARCH64_CLASSES = (
    ("fma", r"(?:fmla\s+v\d+\.4s|fmla\.4s\s+v|fmadd\s+s)", 1),
    ("mul", r"(?:fmul\s+v\d+\.4s|fmul\.4s\s+v|fmul\s+s)", 1),
    ("add", r"(?:fadd\s+v\d+\.4s|fadd\.4s\s+v|fadd\s+s)", 1),
    ("fma64", r"(?:fmla\s+v\d+\.2d|fmla\.2d\s+v|fmadd\s+d)", 1),
    ("mul64", r"(?:fmul\s+v\d+\.2d|fmul\.2d\s+v|fmul\s+d)", 1),
    ("add64", r"(?:fadd\s+v\d+\.2d|fadd\.2d\s+v|fadd\s+d)", 1),
    ("fma_int", r"(?:mla\s+v\d+\.4s|mla\.4s\s+v)", 1),
    ("dot_bf16", r"bfdot(?:\.4s)?\s+v", 1),
    ("store_nt", r"stnp\s+q", 2),
    ("store_nt", r"stnp\s+d", 1),
    ("spill", r"(?:str|stur|ldr|ldur|stp|ldp)\s+[qs]\d+,.*\[sp", 1),
    ("load", r"ldp\s+[qs]\d", 2),
    ("load", r"ldu?r\s+[qs]\d", 1),
    ("store", r"stp\s+[qs]\d", 2),
    ("store", r"stu?r\s+[qs]\d", 1),
    ("prefetch", r"prfu?m\s", 1),
    ("call", r"bl\s", 1),
)
LABEL = re.compile(r"^_?([A-Za-z]\w*):", re.MULTILINE)
END = re.compile(r"^(?:\.?Lfunc_end\d*:|\s+\.cfi_endproc)", re.MULTILINE)


def functions(assembly: str) -> dict[str, str]:
    """The text of each function, from its label to the end that the compiler marks."""
    labels = list(LABEL.finditer(assembly))
    ends = (END.search(assembly, label.end()) for label in labels)
    return {
        label[1]: assembly[label.end() : end.start()]
        for label, end in zip(labels, ends, strict=True)
        if end is not None
    }


def count(function: str, architecture: str) -> Mapping[str, int]:
    """The instructions in a function's text by class; stores and loads count vectors: AArch64 may move two at once."""
    pattern, classes = _matcher("aarch64" if architecture == "aarch64" else "x86-64")
    found = {name: 0 for name, _ in classes}
    for match in pattern.finditer(function):
        name, worth = classes[(match.lastindex or 0) - 1]
        found[name] += worth
    return found


def digest(texts: Sequence[str]) -> str:
    """A hash of functions' code that does not depend on what was compiled with them."""
    neutral = re.sub(r"L(BB|CPI|tmp|func_begin)\d+", r"L\1", "\n".join(texts))
    return sha256(neutral.encode()).hexdigest()[:16]


@cache
def _matcher(architecture: str) -> tuple[re.Pattern[str], Sequence[tuple[str, int]]]:
    table = AARCH64_CLASSES if architecture == "aarch64" else X86_CLASSES
    alternatives = "|".join(f"({pattern})" for _, pattern, _ in table)
    return re.compile(rf"^\s+(?:{alternatives})", re.MULTILINE), [(name, worth) for name, _, worth in table]
