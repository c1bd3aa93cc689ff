"""The console as a program."""

import logging
import secrets
import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from urllib.parse import urlencode

import uvicorn

from .app import create_app


def serve(
    dsn: str,
    host: str = "127.0.0.1",
    port: int = 8700,
    *,
    schema: str | None = None,
    write: bool = False,
    token: str | None = None,
    hosts: Iterable[str] = (),
    announce: Callable[[str], object] = print,
) -> None:
    """Serves the console until SIGTERM or Ctrl-C, and announces by one line where it is, with its token.

    port: 0 for one that is free. token: None for a new one at each start; empty for none at all, which only whoever is
    on this host can then do without. The rest is as in create_app(). Raises ValueError for no token on another address,
    OSError where the address cannot be bound, and psycopg.ProgrammingError as create_app() does.
    """
    if not host:
        raise ValueError("it has no address: 127.0.0.1 is for this host only, 0.0.0.0 for all")
    if token == "" and not _is_loopback(host):
        raise ValueError(f"on {host} anybody could look: give a token, or leave it out to have one made")
    secret = secrets.token_urlsafe(24) if token is None else token or None
    # The name that is bound is also one that it is reached by.
    app = create_app(dsn, schema, write, secret, hosts=[*hosts, host])
    # A lost database is shown on the pages.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    # No log of requests: addresses name executions, and the first one has the token.
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        announce(_url(host, listener, secret))
        uvicorn.Server(config).run(sockets=[listener])


def _url(host: str, listener: socket.socket, token: str | None) -> str:
    name = f"[{host}]" if ":" in host else host
    query = f"?{urlencode({'token': token})}" if token else ""
    return f"http://{name}:{listener.getsockname()[1]}/{query}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
