"""A model provider on the loopback interface: a real HTTP server that answers as it is told and keeps what it got."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request as it came in; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What to send back; a body that is no text is sent as JSON. `hang_up` closes the connection instead."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    hang_up: bool = False


Behavior = Callable[[Received], Answer]


def completion(text: str | None = "yes", *, choice: Mapping[str, Any] | None = None, **top: Any) -> Answer:
    """A chat completion; `choice` and `top` replace parts of its only choice and of the whole."""
    first = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **(choice or {})}
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    return Answer(
        body={"id": "c-1", "object": "chat.completion", "model": "served", "choices": [first], "usage": usage, **top}
    )


def message(text: str = "yes", **top: Any) -> Answer:
    """An answer of the messages API; `top` replaces parts of it."""
    content = [{"type": "text", "text": text}]
    usage = {"input_tokens": 12, "output_tokens": 3}
    body = {"id": "m-1", "type": "message", "role": "assistant", "model": "served", "content": content}
    return Answer(body={**body, "stop_reason": "end_turn", "usage": usage, **top})


def default_behavior(received: Received) -> Answer:
    """Says yes in the format of the path that was called, and 404 on any other path."""
    if received.path.endswith("/chat/completions"):
        return completion()
    if received.path.endswith("/v1/messages"):
        return message()
    return Answer(status=404, body={"detail": "Not Found"})


def refuse(status: int, text: str, **error: Any) -> Answer:
    """An error in the shape most providers use."""
    return Answer(status=status, body={"error": {"message": text, **error}})


class ProviderServer:
    """Use as a context manager; `behavior` may be replaced at any time, from one answer or a function."""

    def __init__(self, behavior: Behavior = default_behavior) -> None:
        self.behavior = behavior
        self.received: list[Received] = []
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def root(self) -> str:
        """The server's root URL, as base URL for the messages API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """Base URL for chat completions."""
        return f"{self.root}/v1"

    def answer(self, *answers: Answer) -> None:
        """Gives the answers in turn, the last one for ever; forgets what was received."""
        self.received.clear()
        self.behavior = _in_turn(answers)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()


def _in_turn(answers: Iterable[Answer]) -> Behavior:
    waiting = list(answers)
    lock = threading.Lock()

    def behavior(received: Received) -> Answer:
        with lock:
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return behavior


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for all of them
    request_queue_size = 128

    def __init__(self, owner: ProviderServer) -> None:
        self.owner = owner
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Ends all connections that clients keep alive, so that no thread waits on one."""
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was faster

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave early are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(path=self.path, headers=headers, body=body)
        owner = self.server.owner
        owner.received.append(received)
        self._send(owner.behavior(received))

    def _send(self, answer: Answer) -> None:
        time.sleep(answer.delay_s)
        if answer.hang_up:
            self.close_connection = True
            return
        text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        data = text.encode()
        headers = {
            "Content-Type": "text/html" if isinstance(answer.body, str) else "application/json",
            **answer.headers,
        }
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps quiet."""
