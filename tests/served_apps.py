"""Applications that are served by a thread."""

import socket
import threading
from contextlib import contextmanager


@contextmanager
def served(app, *args, **options):
    """The host and port of an application that runs in a thread, guarded with other arguments."""
    import uvicorn

    from sklearn_crcrf.apps.web.connections import Connection, Server
    from sklearn_crcrf.apps.web.guard import Guard

    listening = socket.create_server(("localhost", 0))
    host = f"localhost:{listening.getsockname()[1]}"
    guarded = Guard(app, [host], *(args or (None, 10**6)), **options)
    server = Server(uvicorn.Config(guarded, http=Connection, ws="none", log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield host
    finally:
        server.should_exit = True
        thread.join()
