"""A server between a client and another one, that fails when it is told to."""

import contextlib
import socket
import threading

FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class UnreliableServer:
    """Hands on what comes to a port, and then fails.

    Attributes:
        port: Where it listens.
        fault: What happens to a connection: "" nothing, "gone" it is closed at once,
            "cut" it is closed after `bytes_left` more bytes of answers or of what is
            sent, "forbidden" every request is answered with 403.
        bytes_left: See `fault`.
    """

    def __init__(self, target):
        self._target = target
        self._listener = socket.create_server(("localhost", 0))
        self.port = self._listener.getsockname()[1]
        self.fault, self.bytes_left = "", 0
        self._open = []
        threading.Thread(target=self._listen, daemon=True).start()

    def fail(self, fault, *, bytes_left=0):
        """From now on, also for connections that are open."""
        self.fault, self.bytes_left = fault, bytes_left
        if fault in ("gone", "forbidden"):
            self._close_all()

    def close(self):
        self._listener.close()
        self._close_all()

    def _close_all(self):
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client):
        if self.fault in ("gone", "cut") and self.bytes_left <= 0:
            client.close()
            return
        if self.fault == "forbidden":
            with contextlib.suppress(OSError):
                client.recv(1 << 16)
                client.sendall(FORBIDDEN)
            client.close()
            return
        server = socket.create_connection(("localhost", self._target))
        self._open += [client, server]
        back = threading.Thread(target=self._hand_on, args=[server, client], daemon=True)
        back.start()
        self._hand_on(client, server)
        back.join()
        client.close()
        server.close()

    def _hand_on(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 14):
                if self.fault == "cut":
                    self.bytes_left -= len(data)
                    if self.bytes_left <= 0:
                        self._close_all()
                        return
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
