"""Who may ask the console for anything, and what each of its answers carries."""

import hashlib
import hmac
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

# Style, script and icon, which hold nothing of the store: the page that asks for the token needs them.
PUBLIC = "/static/"

Refuse = Callable[..., Response]


class Guard:
    """Lets through whoever names the host rightly and knows the token.

    token: given once in the URL or by `Authorization: Bearer`, then in a cookie. None: nobody is asked for one.
    hosts: the names that a request may come for, besides localhost and any IP address. A page of another site that
    has its own name lead to this server (DNS rebinding) comes for that name.
    """

    def __init__(self, app: ASGIApp, token: str | None, hosts: Iterable[str], refuse: Refuse) -> None:
        self._app = app
        self._token = token
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._refuse = refuse
        # Of the token and not the token itself; browsers keep one jar for all ports of a host.
        self._pass = "" if token is None else derived(token, "cookie")
        self._cookie = f"harel-{self._pass[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # No page opens a websocket.
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope, receive)
        answer = self._answer(request)
        await (answer or self._app)(scope, receive, send_guarded)

    def _answer(self, request: Request) -> Response | None:
        """What the guard itself answers; None where the request may pass."""
        if not self._knows_host(request.headers.get("host", "")):
            return self._refuse(
                request,
                400,
                "The console does not answer to this host name.",
                hint="Allow the name when it is started.",
            )
        if self._token is None or request.url.path.startswith(PUBLIC):
            return None
        given = request.query_params.get("token")
        if given is not None and request.method == "GET" and same(given, self._token):
            return self._let_in(request)
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and same(bearer.strip(), self._token):
            return None
        if same(request.cookies.get(self._cookie, ""), self._pass):
            return None
        if given is not None:
            return self._refuse(request, 401, "That is not the token.")
        return self._refuse(request, 401, "The console asks for its token.")

    def _let_in(self, request: Request) -> Response:
        """Leads to the page that was asked for, without the token in its address."""
        query = urlencode([pair for pair in parse_qsl(request.url.query, True) if pair[0] != "token"])
        # One slash: two would begin the name of another host.
        path = "/" + request.scope.get("raw_path", b"/").decode("ascii", "replace").lstrip("/\\")
        response = RedirectResponse(f"{path}?{query}" if query else path, 303)
        response.set_cookie(
            self._cookie, self._pass, httponly=True, samesite="strict", secure=request.url.scheme == "https"
        )
        return response

    def _knows_host(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        try:
            ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return name.lower() in self._hosts
        return True


def derived(secret: str, purpose: str) -> str:
    """A secret for one purpose, which tells nothing of the secret that it is made from."""
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def same(given: str, expected: str) -> bool:
    """Whether they are equal, in a time that does not tell how far."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode("utf-8", "replace"))
