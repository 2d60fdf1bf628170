"""An MCP server that plays a report. Run `mcp_player.py REPORT LOG` for stdio, with `PORT` for HTTP.

It uses no SDK. A report has `tools`, or `pages` of them, and `exchanges` in their order. An exchange answers the
request of its `expect` with `result`, `error`, or over HTTP with `status`, `headers` and `body`. `before` lists
messages, lines and pauses that precede the answer. `raw` is the complete answer. `then` is "exit" or "hang".
An event between them makes a server on HTTP forget its sessions; `must come` starts the exchanges again. `answers` replaces
the answers to other methods.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

report: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
lock = threading.Lock()
METHOD_NOT_FOUND = {"code": -32601, "message": "Method not found"}


def log(entry: dict[str, Any]) -> None:
    with lock, Path(sys.argv[2]).open("a") as file:
        file.write(json.dumps(entry) + "\n")


class Script:
    """The exchanges, and the next of them."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.position = 0

    def next_for(self, request: str) -> dict[str, Any] | None:
        """Return the next exchange if it is about this request."""
        exchanges = report.get("exchanges", [])
        while self.position < len(exchanges):
            exchange: dict[str, Any] = exchanges[self.position]
            if "meanwhile" in exchange:
                self.sessions.clear()
            elif "must come" not in exchange:
                break
            self.position += 1
            if "must come" in exchange:
                self.position = 0
                break
        else:
            return None
        exchange = exchanges[self.position]
        if request not in exchange["expect"].removeprefix("POST ").split(","):
            return None
        self.position += 1
        return exchange


script = Script()


def listed_tools() -> list[Any]:
    names = [
        exchange["expect"].split(",")[0].split()[-1]
        for exchange in report.get("exchanges", [])
        if "tools/call" in exchange.get("expect", "")
    ]
    plain = {"type": "object", "properties": {}}
    return report.get("tools") or [{"name": name, "inputSchema": plain} for name in dict.fromkeys(names)]


def default(message: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request that no exchange answers."""
    method, params = message["method"], message.get("params") or {}
    if method in report.get("answers", {}):
        return report["answers"][method]
    if method == "initialize":
        server = {"name": "player", "version": "1"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        pages = report.get("pages") or [{"tools": listed_tools()}]
        cursors = [None, *(page.get("nextCursor") for page in pages)]
        return {"result": pages[cursors.index(params.get("cursor"))]}
    if method == "tools/call":
        return {"error": {"code": -32602, "message": f"The report does not expect {name_of(message)}"}}
    return {"error": METHOD_NOT_FOUND}


def name_of(message: dict[str, Any]) -> str:
    """Return the method of a message, with the name of a called tool."""
    name = (message.get("params") or {}).get("name")
    return f"{message['method']} {name}" if message["method"] == "tools/call" else message["method"]


def filled(value: Any, message: dict[str, Any]) -> Any:
    """Return the value with "$id" and "$token" replaced by the request's."""
    token = ((message.get("params") or {}).get("_meta") or {}).get("progressToken")
    if isinstance(value, str):
        return {"$id": message.get("id"), "$token": token}.get(value, value)
    if isinstance(value, list):
        return [filled(item, message) for item in value]
    return {key: filled(item, message) for key, item in value.items()} if isinstance(value, dict) else value


def enlarged(value: Any) -> Any:
    """Return the value with "$large" replaced by the base64 of three megabytes."""
    if isinstance(value, list):
        return [enlarged(item) for item in value]
    if isinstance(value, dict):
        return {key: enlarged(item) for key, item in value.items()}
    return "AAAA" * 750_000 if value == "$large" else value


def noted(message: dict[str, Any], **more: Any) -> None:
    params = message.get("params") or {}
    entry = {"request": name_of(message) if "method" in message else "answer", **more}
    if message.get("method") == "tools/call":
        entry |= {"arguments": params.get("arguments"), "has_token": "progressToken" in (params.get("_meta") or {})}
    if message.get("method") == "notifications/cancelled":
        entry["cancelled"] = params.get("requestId")
    log(entry)


# --- stdio ---------------------------------------------------------------------------------------------------------


def write_line(value: Any) -> None:
    print(value if isinstance(value, str) else json.dumps(value), flush=True)


def serve_stdio() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        noted(message)
        if "id" not in message or "method" not in message:
            continue
        exchange = script.next_for(name_of(message)) or default(message)
        threading.Thread(target=answer_on_stdio, args=(exchange, message), daemon=True).start()
    log({"request": "end of stdin"})


def answer_on_stdio(exchange: dict[str, Any], message: dict[str, Any]) -> None:
    for item in exchange.get("before", ()):
        if isinstance(item, (int, float)):
            time.sleep(item)
        else:
            write_line(filled(item, message))
    if exchange.get("then") == "exit":
        print(exchange.get("last_words", ""), file=sys.stderr, flush=True)
        os._exit(3)
    if exchange.get("then") == "hang":
        return
    if "raw" in exchange:
        write_line(filled(exchange["raw"], message))
        return
    outcome = {name: enlarged(exchange[name]) for name in ("result", "error") if name in exchange}
    write_line({"jsonrpc": "2.0", "id": message["id"], **outcome})
    if exchange.get("then") == "exit after the answer":
        os._exit(0)


# --- HTTP ----------------------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self) -> None:
        self.send(405, {}, b"")

    def do_DELETE(self) -> None:
        log({"request": "DELETE", "session": self.headers.get("Mcp-Session-Id")})
        script.sessions.discard(str(self.headers.get("Mcp-Session-Id")))
        self.send(200, {}, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        session = self.headers.get("Mcp-Session-Id")
        noted(message, session=session, protocol=self.headers.get("MCP-Protocol-Version"))
        if "id" not in message or "method" not in message:
            self.send(202, {}, b"")
            return
        name = name_of(message)
        exchange = script.next_for(name) or default(message)
        headers = dict(exchange.get("headers", {}))
        if message["method"] == "initialize" and "result" not in exchange and exchange.get("status", 200) == 200:
            exchange = {**exchange, **default(message)}
        if "Mcp-Session-Id" in headers:
            if Handler.count:
                headers["Mcp-Session-Id"] += f"-{Handler.count}"
            Handler.count += 1
            script.sessions.add(headers["Mcp-Session-Id"])
        if session and session not in script.sessions and "body" not in exchange and "raw" not in exchange:
            exchange = {"status": 404, "body": {"error": "unknown session"}}
        self.answer(exchange, headers, message)

    def answer(self, exchange: dict[str, Any], headers: dict[str, str], message: dict[str, Any]) -> None:
        if exchange.get("then") == "hang":
            time.sleep(60)
        if exchange.get("then") == "exit":
            self.close_connection = True
            return
        outcome = {key: exchange[key] for key in ("result", "error") if key in exchange}
        reply = {"jsonrpc": "2.0", "id": message["id"], **outcome}
        if "before" in exchange or exchange.get("events"):
            parts = [filled(item, message) for item in exchange.get("before", ())]
            lines = [
                item if isinstance(item, str) else f"event: message\ndata: {json.dumps(item)}\n\n" for item in parts
            ]
            if outcome:
                lines.append(f"event: message\ndata: {json.dumps(reply)}\n\n")
            self.send(
                exchange.get("status", 200), {"Content-Type": "text/event-stream", **headers}, "".join(lines).encode()
            )
            return
        body = exchange["raw"] if "raw" in exchange else exchange.get("body", reply)
        text = body if isinstance(body, str) else json.dumps(filled(body, message))
        self.send(exchange.get("status", 200), {"Content-Type": "application/json", **headers}, text.encode())

    def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  the name in the library
        """Write nothing."""


if __name__ == "__main__":
    if len(sys.argv) > 3:
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[3])), Handler).serve_forever()
    else:
        serve_stdio()
