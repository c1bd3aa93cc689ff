"""Chromium, as the tests and the pictures use it."""

import shutil

# Without a sandbox, as root has none; the rest is what would call home.
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium() -> str | None:
    """The program, where it is installed."""
    return shutil.which("chromium")
