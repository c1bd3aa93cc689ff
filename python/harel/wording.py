"""How figures and foreign texts are put into words, wherever they are shown."""


def duration(seconds: float) -> str:
    """Seconds in the unit that a reader would choose."""
    for unit, length in ("d", 86400), ("h", 3600), ("min", 60):
        if abs(seconds) >= length:
            return f"{seconds / length:.1f} {unit}"
    if abs(seconds) >= 10 or seconds == 0:
        return f"{seconds:.0f} s"
    return f"{seconds:.1f} s" if abs(seconds) >= 1 else f"{seconds * 1000:.0f} ms"


def printable(text: str) -> str:
    """The text without what would move a terminal's cursor, change its colours or be no character of XML."""
    return "".join(c if c.isprintable() else "?" for c in text)
