"""The console: what is in a store, and what is wrong with it, in a browser. Needs the extra `harel[ui]`."""

from .app import create_app
from .server import serve

__all__ = ["create_app", "serve"]
