"""Ask a language server what it offers in a file, as an editor does: for every public class, and the package.

``python packaging/completion.py [SERVER]`` prints what is missing, and ends with 1 where anything is. The server is
``basedpyright-langserver`` (``pip install basedpyright``), of the Python that runs this.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import IO, Any

import fairlp

ROOT = Path(__file__).parents[1]


class Server:
    """A language server: requests and answers of the language server protocol."""

    def __init__(self, command: Path) -> None:
        self.process = subprocess.Popen(
            [command, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        self.last_request = 0

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        pipe = piped(self.process.stdin)
        pipe.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        pipe.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next message."""
        pipe = piped(self.process.stdout)
        length = 0
        while (line := pipe.readline().strip()) or not length:
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(pipe.read(length))
        return message

    def ask(self, method: str, parameters: dict[str, Any]) -> Any:
        """Return the result of a request; questions that the server has meanwhile get no answer."""
        self.last_request += 1
        self.send({"id": self.last_request, "method": method, "params": parameters})
        while True:
            message = self.receive()
            if "method" in message and "id" in message:
                is_configuration = message["method"] == "workspace/configuration"
                result = [{}] * len(message["params"]["items"]) if is_configuration else None
                self.send({"id": message["id"], "result": result})
            elif message.get("id") == self.last_request:
                return message["result"]

    def open(self, root: Path) -> None:
        """Open a folder."""
        uri = root.as_uri()
        settings = {
            "processId": None,
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": root.name}],
            "capabilities": {"workspace": {"workspaceFolders": True, "configuration": True}},
        }
        self.ask("initialize", settings)
        self.send({"method": "initialized", "params": {}})

    def completions(self, text: str) -> set[str]:
        """Return what is offered at the end of a file with this text."""
        uri = (ROOT / f"completed_{self.last_request}.py").as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        lines = text.splitlines()
        position = {"line": len(lines) - 1, "character": len(lines[-1])}
        answer = self.ask(
            "textDocument/completion", {"textDocument": {"uri": uri}, "position": position}
        )
        return {item["label"] for item in (answer or {}).get("items", [])}


def piped(pipe: IO[bytes] | None) -> IO[bytes]:
    """Return the pipe of a process that has one."""
    assert pipe is not None
    return pipe


def public_members(kind: type) -> set[str]:
    """Return the public members of a class."""
    return {name for name in dir(kind) if not name.startswith("_")}


def missing(server: Server) -> list[str]:
    """Return what the server does not offer, a line each."""
    expected = {"import fairlp\nfairlp.": {n for n in fairlp.__all__ if not n.startswith("_")}}
    for name in fairlp.__all__:
        thing = getattr(fairlp, name)
        if inspect.isclass(thing) and issubclass(thing, Enum):
            expected[f"import fairlp\nfairlp.{name}."] = set(thing.__members__)
        elif inspect.isclass(thing):
            text = f"import fairlp\ndef use(thing: fairlp.{name}):\n    thing."
            expected[text] = public_members(thing)
        elif inspect.ismodule(thing):
            expected[f"from fairlp import {name}\n{name}."] = set(thing.__all__)
    expected["import fairlp\nfairlp.Model('m').solve(time_"] = {"time_limit="}
    return [
        f"{text.splitlines()[-2:]}: {', '.join(sorted(absent))}"
        for text, names in expected.items()
        if (absent := names - server.completions(text))
    ]


def main() -> int:
    """Print what is missing."""
    folder = Path(sys.executable).parent
    server = Server(Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "basedpyright-langserver")
    server.open(ROOT)
    lines = missing(server)
    server.process.kill()
    print("\n".join(lines) or "the editor is offered every public name and member")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
