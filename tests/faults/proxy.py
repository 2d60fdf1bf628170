"""A proxy between our processes and PostgreSQL that loses answers to commits on demand."""

import socket
import threading
from contextlib import suppress

COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"  # a simple query in PostgreSQL's wire format


class Proxy:
    """A proxy. After `lose(n)`, each `every`th commit is executed and its answer lost, until that happened n times."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.lost = 0
        self._to_lose, self._every, self._seen = 0, 1, 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, count: int, every: int = 1) -> None:
        with self._lock:
            self._to_lose, self._every = count, every

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            client.close()
            return
        deaf = threading.Event()
        threading.Thread(target=self._answers, args=(server, client, deaf), daemon=True).start()
        with suppress(OSError):
            while data := client.recv(65536):
                if data.endswith(COMMIT) and self._is_to_be_lost():
                    deaf.set()
                server.sendall(data)
        _close(server)

    @staticmethod
    def _answers(server: socket.socket, client: socket.socket, deaf: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if deaf.is_set():
                    break
                client.sendall(data)
        _close(client)
        _close(server)

    def _is_to_be_lost(self) -> bool:
        with self._lock:
            self._seen += 1
            if self._to_lose == 0 or self._seen % self._every:
                return False
            self._to_lose -= 1
            self.lost += 1
            return True


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
