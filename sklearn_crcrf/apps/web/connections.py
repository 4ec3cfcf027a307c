"""Connections: how many there may be, and how long they may wait for their clients."""

import asyncio
import sys
from collections.abc import Iterable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds for the header and the body of a request, or between requests.
REQUEST_SECONDS = 10.0
# Seconds for a request and its answer, which slow clients take long to read.
EXCHANGE_SECONDS = 100.0
# Seconds that are left for answers when the server ends.
GRACE = 0.3
MAX_OF_ADDRESS, MAX_CONNECTIONS = 100, 400
# New connections that are accepted before the oldest ones are closed.
BACKLOG = 100


class Connection(H11Protocol):
    """A connection that makes room for itself, and knows since when it is open or idle."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close the connection that has waited longest for its client if there are too many."""
        super().connection_made(transport)
        self.since, self.is_cut = self.loop.time(), False
        connections: Iterable[Any] = self.connections
        everywhere = [other for other in connections if not other.is_cut]
        here = [other for other in everywhere if other.address == self.address]
        for those, most in ((here, MAX_OF_ADDRESS), (everywhere, _max_connections())):
            if len(those) > most and not self.is_cut:
                waiting = [other for other in those if other.is_waiting]
                min(waiting, key=lambda other: other.since, default=self).cut()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self.since = self.loop.time()
        super().on_response_complete()

    @property
    def address(self) -> str | None:
        """The address of the client."""
        return self.client[0] if self.client else None

    @property
    def is_waiting(self) -> bool:
        """Whether it is the client's turn to send something."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def close_if_overdue(self) -> None:
        """Close it if the client takes too long."""
        is_reading = self.transport.get_write_buffer_size() > 0
        most = REQUEST_SECONDS if self.is_waiting and not is_reading else EXCHANGE_SECONDS
        if self.loop.time() - self.since > most:
            self.cut()

    def cut(self) -> None:
        """Close it at once."""
        self.is_cut = True
        self.transport.abort()


class Server(uvicorn.Server):
    """A server that closes overdue connections, and all of them soon when it ends.

    Parameters
    ----------
    config : uvicorn.Config
    greeting : str
        Printed when it has started, since from then on Ctrl-C ends it for certain.
    """

    def __init__(self, config: uvicorn.Config, greeting: str = ""):
        super().__init__(config)
        self._greeting = greeting

    async def startup(self, sockets: Any = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        print(self._greeting, end="", flush=True)

    async def on_tick(self, counter: int) -> bool:
        """Do what is to be done every tenth of a second."""
        if counter % 10 == 0:
            for connection in self._open():
                connection.close_if_overdue()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: Any = None) -> None:
        """Leave answers a moment; what is not done by then is given up, as clients are gone."""
        _cut(connection for connection in self._open() if connection.is_waiting)
        asyncio.get_running_loop().call_later(GRACE, lambda: _cut(self._open()))
        await super().shutdown(sockets)

    def _open(self) -> list[Any]:
        return list(self.server_state.connections)


def _cut(connections: Iterable[Connection]) -> None:
    for connection in connections:
        connection.cut()


def _max_connections() -> int:
    """Return the most connections, which leave some file descriptors free."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, soft // 3)
