"""Many pages or event streams of one session, in a separate process.

    python -m benchmarks.page_clients ADDRESS COUNT NAME VALUE   with one header, NAME: VALUE; ws://… is a page

Prints a line when all are connected, and a JSON report when its input ends: {messages, bytes, last_seq, with_text,
p50, p99}. `last_seq` is the lowest of all clients; the last three count text that contains its time of sending.
"""

import asyncio
import json
import re
import sys
import time
from dataclasses import asdict, dataclass, field
from statistics import quantiles

import aiohttp

SETTLING = 1.0  # seconds after the last has connected
_STAMP = re.compile(r"@(\d+\.\d+)")
_RUNNING = re.compile(r"delta|^\{\"type\": ?\"prose\"")
_SEQ = re.compile(r'data-seq=\\?"(\d+)|^id: (\d+)', re.MULTILINE)


@dataclass
class Received:
    """The data that one client received. `delays` are from sending to arrival of each message's newest token, in ms."""

    messages: int = 0
    bytes: int = 0
    last_seq: int = 0
    delays: list[float] = field(default_factory=list)
    is_open: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, text: str) -> None:
        self.messages += 1
        self.bytes += len(text)
        for match in _SEQ.finditer(text):
            self.last_seq = max(self.last_seq, int(match[1] or match[2]))
        if stamps := _RUNNING.search(text[:300]) and _STAMP.findall(text):
            self.delays.append(1000 * (time.monotonic() - float(stamps[-1])))


@dataclass(frozen=True)
class Report:
    messages: float
    bytes: float
    last_seq: int
    with_text: int
    p50: float
    p99: float

    @classmethod
    def of(cls, clients: list[Received], before: tuple[int, int]) -> "Report":
        delays = [delay for client in clients for delay in client.delays]
        delays += [0.0] * (2 - len(delays))
        hundredths = quantiles(delays, n=100)
        return cls(
            messages=(sum(client.messages for client in clients) - before[0]) / len(clients),
            bytes=(sum(client.bytes for client in clients) - before[1]) / len(clients),
            last_seq=min(client.last_seq for client in clients),
            with_text=sum(bool(client.delays) for client in clients),
            p50=hundredths[49],
            p99=hundredths[98],
        )


async def _follow(client: aiohttp.ClientSession, address: str, received: Received) -> None:
    if address.startswith("ws"):
        origin = "http" + address.removeprefix("ws").partition("/ws/")[0]
        async with client.ws_connect(address, origin=origin, max_msg_size=0) as socket:
            received.is_open.set()
            async for message in socket:
                received.add(message.data)
        return
    async with client.get(address) as stream:
        received.is_open.set()
        async for chunk in stream.content.iter_any():
            received.add(chunk.decode())


async def main(address: str, count: int, name: str, value: str) -> None:
    clients = [Received() for _ in range(count)]
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(headers={name: value}, connector=connector, timeout=timeout) as client:
        following = [asyncio.create_task(_follow(client, address, received)) for received in clients]
        ready = asyncio.gather(*(received.is_open.wait() for received in clients))
        ended, _ = await asyncio.wait([ready, *following], return_when=asyncio.FIRST_COMPLETED)
        if ready not in ended:
            raise RuntimeError(f"a client has ended: {ended}")
        await asyncio.sleep(SETTLING)
        print("ready", flush=True)
        before = sum(received.messages for received in clients), sum(received.bytes for received in clients)
        await asyncio.to_thread(sys.stdin.read)
        print(json.dumps(asdict(Report.of(clients, before))), flush=True)
        for task in following:
            task.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]))
