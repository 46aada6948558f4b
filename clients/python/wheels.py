"""Makes the packages of a release for PyPI, from programs that are built. Equal inputs give equal files.

usage: python3 wheels.py VERSION PROGRAMS OUT

PROGRAMS has a folder OS_ARCH with the program xstate for each platform, such as linux_amd64. There is a wheel of the
client, which is Python alone, and one for each platform with the program and the extension of JupyterLab, which needs
the client of the same version.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXTENSION = ROOT / "internal/serve/jupyter/labextension"
HOME = "https://github.com/xstate-engine/xstate"

# As the programs are linked, see .ci/cross.
PLATFORMS = {
    "linux_amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "linux_arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "darwin_amd64": "macosx_12_0_x86_64",
    "darwin_arm64": "macosx_12_0_arm64",
}


class Wheel:
    """A file of the binary distribution format (PEP 427)."""

    def __init__(self, folder: Path, project: str, version: str, tag: str, seconds: int) -> None:
        self.name = f"{project.replace('-', '_')}-{version}"
        self._info = f"{self.name}.dist-info"
        self._tag, self._date = tag, time.gmtime(seconds)[:6]
        self._records: list[str] = []
        self.path = folder / f"{self.name}-py3-none-{tag}.whl"
        self._zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)

    def add(self, name: str, content: bytes, mode: int = 0o644) -> None:
        about = zipfile.ZipInfo(name, self._date)
        about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
        self._zip.writestr(about, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._records.append(f"{name},sha256={digest},{len(content)}")

    def add_licence(self, name: str, content: bytes) -> None:
        self.add(f"{self._info}/licenses/{name}", content)

    def close(self, metadata: str) -> None:
        self.add_licence("LICENSE", (ROOT / "LICENSE").read_bytes())
        self.add(f"{self._info}/METADATA", metadata.encode())
        tags = "".join(f"Tag: py3-none-{tag}\n" for tag in self._tag.split("."))
        pure = "true" if self._tag == "any" else "false"
        head = f"Wheel-Version: 1.0\nGenerator: xstate\nRoot-Is-Purelib: {pure}\n{tags}"
        self.add(f"{self._info}/WHEEL", head.encode())
        records = "\n".join([*self._records, f"{self._info}/RECORD,,", ""])
        self.add(f"{self._info}/RECORD", records.encode())
        self._zip.close()


def metadata(project: str, version: str, requires: str = "") -> str:
    """The core metadata of a project, with the client's README."""
    settings = (HERE / "pyproject.toml").read_text("utf-8")
    table = settings.partition("[project.optional-dependencies]\n")[2].partition("\n\n")[0]
    extras = {name: re.findall(r'"(.*?)"', needs) for name, needs in re.findall(r"^(\S+) = \[(.*)\]$", table, re.M)}
    if requires:  # the package with the program passes them on to the client
        extras = {name: [requires.replace("==", f"[{name}]==")] for name in extras}
    (summary,) = re.findall(r'^description = "(.*)"', settings, re.M)
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project}",
        f"Version: {version}",
        f"Summary: {summary}",
        f"Project-URL: Source, {HOME}",
        "License-Expression: Apache-2.0",
        "License-File: LICENSE",
        "Requires-Python: >=3.10",
        *(f"Classifier: {c}" for c in re.findall(r'^    "(.* :: .*)",', settings, re.M)),
        *([f"Requires-Dist: {requires}"] if requires else []),
        *(f"Provides-Extra: {name}" for name in extras),
        *(f'Requires-Dist: {need}; extra == "{name}"' for name, needs in extras.items() for need in needs),
        "Description-Content-Type: text/markdown",
    ]
    readme = re.sub(
        r"\]\(\.\./\.\./([^)]*)\)", rf"]({HOME}/blob/v{version}/\1)", (HERE / "README.md").read_text("utf-8")
    )
    return "\n".join([*lines, "", readme])


def main(version: str, programs: Path, out: Path) -> int:
    number = re.sub(r"-?(a|b|rc)\.?", r"\1", version.removeprefix("v"))  # as PEP 440 writes it
    (own,) = re.findall(r'VERSION = "(.*)"', (HERE / "src/xstate_engine/_version.py").read_text("utf-8"))
    if own != number:
        print(f"wheels.py: the client's version is {own}, not {number}: see _version.py", file=sys.stderr)
        return 1
    commit = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or commit.stdout)
    client = Wheel(out, "xstate-engine-client", number, "any", seconds)
    for source in sorted((HERE / "src").rglob("*")):
        if source.is_file() and source.suffix in (".py", ".typed"):
            client.add(source.relative_to(HERE / "src").as_posix(), source.read_bytes())
    client.close(metadata("xstate-engine-client", number))
    made = [client.path]
    for platform, tag in PLATFORMS.items():
        program = programs / platform / "xstate"
        if not program.exists():
            continue
        wheel = Wheel(out, "xstate-engine", number, tag, seconds)
        wheel.add(f"{wheel.name}.data/scripts/xstate", program.read_bytes(), 0o755)
        licences = programs / "common/licences"  # of the modules that the program is made of
        for source in sorted(licences.rglob("*")):
            if source.is_file():
                wheel.add_licence(f"modules/{source.relative_to(licences).as_posix()}", source.read_bytes())
        for source in sorted(EXTENSION.rglob("*")):
            if source.is_file():
                place = f"share/jupyter/labextensions/xstate-engine/{source.relative_to(EXTENSION).as_posix()}"
                wheel.add(f"{wheel.name}.data/data/{place}", source.read_bytes())
        wheel.close(metadata("xstate-engine", number, f"xstate-engine-client=={number}"))
        made.append(wheel.path)
    print(*made, sep="\n")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        print("usage: python3 wheels.py VERSION PROGRAMS OUT", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
