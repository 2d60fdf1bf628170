"""The minimal cost of a page: a process that wakes 20 times a second and sends a batch of text to one client.

    python -m benchmarks.page_floor

Prints the microseconds of its CPU for each batch.
"""

import asyncio
import subprocess
import sys
import time

BATCH_SECONDS, BATCH = 0.05, b"x" * 1024  # as in `tasks_app/runtime/pump.py`; about 45 tokens with their markup
BATCHES, FIRST = 60, 5  # the first ones warm up


def microseconds() -> float:
    """Return the CPU time of a batch in microseconds, measured in a separate process."""
    command = [sys.executable, "-m", "benchmarks.page_floor"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


async def _measure() -> float:
    client = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(lambda _, writer: client.set_result(writer), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reading = f"import socket; s = socket.create_connection(('127.0.0.1', {port}))\nwhile s.recv(65536): pass"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", reading)
    writer = await client
    await _send(writer, FIRST)
    began = time.process_time()
    await _send(writer, BATCHES)
    used = time.process_time() - began
    writer.close()
    await process.wait()
    return 1e6 * used / BATCHES


async def _send(writer: asyncio.StreamWriter, batches: int) -> None:
    for _ in range(batches):
        writer.write(BATCH)
        await asyncio.sleep(BATCH_SECONDS)


if __name__ == "__main__":
    print(asyncio.run(_measure()))
