"""An OpenAI-compatible server that answers every chat completion at once with the same verdict; loopback only."""

import asyncio
import json
import sys

_VERDICT = json.dumps({"explanation": "The text says so.", "answer": "yes"})
_BODY = json.dumps(
    {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 0,
        "model": "instant",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": _VERDICT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 600, "completion_tokens": 12, "total_tokens": 612},
    }
).encode()
_RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


class _Connection(asyncio.Protocol):
    """Reads requests by their content length and answers each; keeps the connection open."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while True:
            head, separator, rest = self._received.partition(b"\r\n\r\n")
            if not separator:
                return
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            length = int(lengths[0].partition(b":")[2]) if lengths else 0
            if len(rest) < length:
                return
            self._received = rest[length:]
            self._transport.write(_RESPONSE)  # type: ignore[attr-defined]


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    try:
        asyncio.run(_serve())
    except KeyboardInterrupt:
        sys.exit(0)
