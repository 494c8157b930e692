"""Text out of files, drivers and people, made safe to show: nothing in it acts on a terminal or breaks a line."""


def one_line(text: object) -> str:
    """`text` on one line, with what a terminal would act on (escapes, newlines, marks of direction) written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))
