"""Adapters of one line: for parts of the standard library, and for packages that need no larger adapter."""

from xstate_kernel import original as __builtins__

from ..ground import callers
from .protocol import Adapter


def _adapter(*packages, **facts):
    a = Adapter()
    a.packages = packages
    vars(a).update(facts)
    return a


def _changes(module, functions):
    return _adapter(module.partition(".")[0], changed_by={module: functions})


def _archives(kind):
    return {
        f"register_{kind}_format": (f"_{kind.upper()}_FORMATS",),
        f"unregister_{kind}_format": (f"_{kind.upper()}_FORMATS",),
    }


ADAPTERS = (
    _adapter("datetime", "fractions", "uuid", "pathlib", "zoneinfo", "ipaddress", "re", "operator", immutable=True),
    _adapter("threading", "_thread", opaque=True, keeps_time=True),
    _adapter("ssl", opaque=True, keeps_time=True),
    _adapter("urllib3", keeps_time=True),
    _adapter("openai", unseen_draws=("openai._base_client",)),
    _adapter("anthropic", unseen_draws=("anthropic._base_client",)),
    _adapter(
        "dataclasses", "attr", "attrs", "collections", "enum", "pydantic", "inspect", "functools", defines_code=True
    ),
    _adapter(after_import=lambda: {"inspect": lambda _, module: callers.hide_from_inspect(module)}),
    _adapter("multiprocessing", "queue", "sched", "selectors", "subprocess", keeps_time=True),
    _adapter("_pytest", keeps_time=True, patchers=("_pytest.monkeypatch",)),
    _adapter("joblib", keeps_time=True, unseen_draws=("joblib.parallel",)),
    _adapter("tempfile", unseen_draws=("tempfile",)),
    _adapter("astropy", scratch_attributes=frozenset(("_parameters",))),
    _adapter("statsmodels", scratch_attributes=frozenset(("_tmp_like_exog",))),
    _adapter(
        "sqlite3",
        opaque=True,
        changed_by={"sqlite3": {"register_adapter": ("adapters",), "register_converter": ("converters",)}},
    ),
    # Functions of the standard library that change containers in attributes of a module.
    _changes("calendar", {"setfirstweekday": ("c",)}),
    _changes("copyreg", {"pickle": ("dispatch_table",)}),
    _changes("doctest", {"register_optionflag": ("OPTIONFLAGS_BY_NAME",)}),
    _changes("email.charset", {"add_charset": ("CHARSETS",), "add_alias": ("ALIASES",), "add_codec": ("CODEC_MAP",)}),
    _changes("shutil", {**_archives("archive"), **_archives("unpack")}),
    _changes("webbrowser", {"register": ("_browsers", "_tryorder")}),
    _changes("xml.etree.ElementTree", {"register_namespace": ("_namespace_map",)}),
)
