"""Where the server of a store is, and how one is started."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ._errors import XStateError, from_document


@dataclass(frozen=True)
class Address:
    """The place to connect to: a socket in the file system, or host and port with a token."""

    socket: str = ""
    host: str = "localhost"
    port: int = 0
    token: str | None = None

    @property
    def header(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{name}:{self.port}" if self.port else name


@dataclass(frozen=True)
class Settings:
    """The arguments that an engine was made with."""

    folder: Path
    store: Path
    binary: str | None
    python: str | None
    url: str | None
    token: str | None
    idle: str | None
    environ: Mapping[str, str] | None
    start: bool
    timeout: float | None

    def environment(self) -> dict[str, Any]:
        """The environment of programs, as fields of a request. Of that of this process, they get what bounds allow.

        A variable that is not Unicode cannot be sent.
        """
        variables = dict(os.environ if self.environ is None else self.environ)
        variables = {name: value for name, value in variables.items() if _unicode(name + value)}
        if self.environ is None and "inline" in variables.get("MPLBACKEND", ""):
            variables["MPLBACKEND"] = "Agg"  # figures of a notebook are shown by the kernel of this process
        if self.python:
            variables["XSTATE_PYTHON"] = self.python
        return {"environ": variables, "inherited": self.environ is None}

    def find(self) -> Address | None:
        """The address of the server; None if the store has none. Whether it is alive is known after connecting."""
        if self.url is not None:
            parts = urlsplit(self.url)
            if parts.scheme != "http" or not parts.hostname:
                raise XStateError("usage", f"{self.url!r} is no address of a server", "want http://127.0.0.1:PORT")
            return Address(host=parts.hostname, port=parts.port or 80, token=self.token or _token(self.store))
        name = self.store / "server.json"
        try:
            with open(name, encoding="utf-8") as file:
                owner = os.fstat(file.fileno()).st_uid
                path = json.load(file)["socket"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise XStateError("no-server", f"{name} cannot be read: {e}", f"remove it: rm {name}") from e
        if owner != os.getuid():
            raise XStateError("no-server", f"the server of {self.store} is another user's", "use a store of your own")
        return Address(socket=path)

    def launch(self) -> None:
        """Starts the server of the store and returns when it listens. It outlives this process, until it is idle."""
        if self.url is not None or not self.start:
            raise XStateError(
                "no-server",
                f"no server answers at {self.url}" if self.url else f"the store {self.store} has no server",
                f"start it: xstate serve --store {self.store}" + (" --listen 127.0.0.1:PORT" if self.url else ""),
            )
        try:
            self._serve("--background", *([f"--idle={self.idle}"] if self.idle else []))
        except XStateError as e:
            if e.code != "server-running":  # another process started one in the meantime
                raise

    def stop(self) -> None:
        """Ends the server of the store, if there is one."""
        self._serve("--stop")

    def gone(self, why: Exception) -> XStateError:
        """The error of a call that lost its server. Waits, at most a second, for a server that dies to stop listening:
        the next call must not reach it."""
        limit = time.monotonic() + 1
        while time.monotonic() < limit and self._listens():
            time.sleep(0.01)
        return XStateError(
            "server-gone",
            f"the server of {self.store} ended before it answered: {why}",
            "call again, which starts a new one; the session's history says what was recorded",
        )

    def _listens(self) -> bool:
        address = self.find()
        if address is None:
            return False
        with socket.socket(socket.AF_UNIX if address.socket else socket.AF_INET) as connection:
            connection.settimeout(1)
            return connection.connect_ex(address.socket or (address.host, address.port)) == 0

    def _serve(self, *flags: str) -> None:
        args = [self.program(), "serve", "--json", f"--store={self.store}", *flags]
        # Files, not pipes: whatever the server inherits, nothing waits for its end.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            done = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.folder)
            out.seek(0)
            err.seek(0)
            if done.returncode != 0:
                raise _failed(args, done.returncode, out.read() or err.read())

    def program(self) -> str:
        """The path of xstate: as given, else $XSTATE, else that of the installed package, else on PATH."""
        name = self.binary or os.environ.get("XSTATE") or _packaged() or "xstate"
        path = shutil.which(name)
        if path is None:
            raise XStateError(
                "no-xstate",
                f"there is no program {name}",
                "install it: pip install xstate-engine; or name it: Engine(binary=…) or the variable XSTATE",
            )
        return path


def _packaged() -> str | None:
    """The program that the package xstate-engine installed for this interpreter, wherever pip puts programs."""
    from importlib import metadata  # takes a while, which few programs need to wait

    try:
        files = metadata.files("xstate-engine") or []
    except metadata.PackageNotFoundError:
        return None
    return next((os.path.normpath(f.locate()) for f in files if f.name == "xstate" and f.parent.name == "bin"), None)


def _unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _failed(args: list[str], exit: int, said: bytes) -> XStateError:
    """The error of a server that did not start, which the command line worded."""
    try:
        return from_document(json.loads(_worded(said.decode("utf-8", "replace")))["error"])
    except (ValueError, KeyError, TypeError):
        text = said.decode("utf-8", "replace").strip()
        return XStateError("no-server", f"{args[0]} ended with {exit}: {text}", "Engine(binary=…) names the program")


def _worded(document: str) -> str:
    """Names the flags of launch as the arguments of Engine that they come from: "--idle 5s" is "idle='5s'"."""
    document = re.sub(r"--(idle|store)[ =](\w+)", r"\1='\2'", document)
    return re.sub(r"--(idle|store)\b", r"\1", document)


def _token(store: Path) -> str | None:
    try:
        return (store / "token").read_text("utf-8").strip()
    except OSError:
        return None


def settings(
    folder: str | os.PathLike[str],
    store: str | os.PathLike[str] | None,
    binary: str | os.PathLike[str] | None,
    python: str | os.PathLike[str] | None,
    url: str | None,
    token: str | None,
    idle: str | None,
    environ: Mapping[str, str] | None,
    start: bool,
    timeout: float | None,
) -> Settings:
    place = Path(folder).resolve()
    if not place.is_dir():
        raise XStateError("no-workspace", f"{place} is no folder", "make it, or name another one")
    return Settings(
        folder=place,
        store=_store(place) if store is None else Path(store).resolve(),
        binary=None if binary is None else os.fspath(binary),
        python=None if python is None else os.fspath(python),
        url=url,
        token=token,
        idle=idle,
        environ=environ,
        start=start,
        timeout=timeout,
    )


def _store(folder: Path) -> Path:
    """The nearest store at or above a folder; else the one that is made in it."""
    for place in (folder, *folder.parents):
        if (place / ".xstate").is_dir():
            return place / ".xstate"
    return folder / ".xstate"


def late(seconds: float) -> XStateError:
    return XStateError("timeout", f"no answer within {seconds:g} s", "ask again, or with a longer timeout")
