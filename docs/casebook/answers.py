"""A small HTTP server: `answers.py PORT STATUS` gives every request this status and 162 bytes."""

import asyncio
import sys

BODY = b"x" * 162
ANSWER = f"HTTP/1.1 {sys.argv[2]} X\r\nContent-Length: {len(BODY)}\r\nConnection: keep-alive\r\n\r\n".encode() + BODY


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of a connection until it ends."""
    try:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Listen on the loopback."""
    server = await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
