"""Finds what code objects load, store, delete and import, read from their bytecode."""

import dis
import sys
import types

from xstate_kernel import original as __builtins__

from . import code_owner

_EXTENDED, _NAMED = dis.EXTENDED_ARG, frozenset(dis.hasname)
_SHIFTS = {
    dis.opmap.get(name): bits
    for name, bits, since in (("LOAD_GLOBAL", 1, (3, 11)), ("LOAD_ATTR", 1, (3, 12)), ("LOAD_SUPER_ATTR", 2, (3, 12)))
    if sys.version_info >= since
}  # these have flags below the index of the name
_decoded = {}


def instructions(code):
    """Returns (offset, operation, argument, name it speaks of or None) for each instruction, as dis does, in a
    twentieth of the time."""
    found = _decoded.get(code)
    if found is None:
        raw, names, found, more = code.co_code, code.co_names, [], 0
        for i in range(0, len(raw), 2):
            op, arg = raw[i], raw[i + 1] | more
            more = arg << 8 if op == _EXTENDED else 0
            found.append((i, dis.opname[op], arg, names[arg >> _SHIFTS.get(op, 0)] if op in _NAMED else None))
        _decoded[code] = found
    return found


FUNCTION = 1  # code flag, see inspect.CO_OPTIMIZED: neither that of a module nor of a class
_LOADS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
_code_names = {}


def code_facts(code):
    """Returns (names, imports) that a code object and those nested in it load from the namespace or import."""
    found = _code_names.get(code)
    if found is None:
        names, imports = set(), set()
        for _, op, _, name in instructions(code):
            if op in _LOADS:
                names.add(name)
            elif op == "IMPORT_NAME":
                imports.add(name)
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                more = code_facts(const)
                names |= more[0]
                imports |= more[1]
        found = _code_names[code] = (frozenset(names), frozenset(imports))
    return found


def loads(code):
    """Returns the names that a code object (not those nested in it) loads from the namespace."""
    return {name for _, op, _, name in instructions(code) if op in _LOADS}


_code_stores, _code_deletes = {}, {}


def deletes(code):
    """Returns the names of the namespace that a code object (not those nested in it) may delete."""
    found = _code_deletes.get(code)
    if found is None:
        ops = {"DELETE_GLOBAL", "DELETE_NAME"} if code.co_name == "<module>" else {"DELETE_GLOBAL"}
        found = _code_deletes[code] = frozenset(name for _, op, _, name in instructions(code) if op in ops)
    return found


def stores(code, module=False):
    """Returns the names of the namespace that a code object and those nested in it may bind. module says that code is
    that of statements: its plain names are names of the namespace."""
    found = _code_stores.get((code, module))
    if found is None:
        found = {
            name for _, op, _, name in instructions(code) if op == "STORE_GLOBAL" or (module and op == "STORE_NAME")
        }
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                found |= stores(const)
        found = _code_stores[code, module] = frozenset(found)
    return found


_code_stars = {}


def star_imports(code):
    """Returns (offset, module) of each star import of a code object, which is at top level."""
    found = _code_stars.get(code)
    if found is None:
        found, module = [], None
        for offset, op, arg, name in instructions(code):
            if op == "IMPORT_NAME":
                module = name
            elif op == "IMPORT_STAR" or (op == "CALL_INTRINSIC_1" and arg == 2):
                found.append((offset, module))
        _code_stars[code] = found
    return found


def star_names(name):
    """Returns the names that a star import of a module binds."""
    members = getattr(sys.modules.get(name), "__dict__", {})
    listed = members.get("__all__")
    return (
        {n for n in listed if code_owner.is_a(n, str)}
        if listed is not None
        else {n for n in members if not n.startswith("_")}
    )


_ATTRS = {"LOAD_ATTR", "LOAD_METHOD"}
_BETWEEN = {"CACHE", "PRECALL", "PUSH_NULL", "NOP", "EXTENDED_ARG"}
_code_chains = {}


def chains(code):
    """Returns the dotted names that a code object (not those nested in it) loads."""
    found = _code_chains.get(code)
    if found is None:
        found, chain = set(), []
        for _, op, _, name in instructions(code):
            if op in _BETWEEN:
                continue
            if op in _ATTRS and chain:
                chain.append(name)
                continue
            if chain:
                found.add(tuple(chain))
            chain = [name] if op in _LOADS else []
        _code_chains[code] = found
    return found


def assigned_targets(code):
    """Returns the dotted names whose attributes a code object, or one nested in it, assigns."""
    found, chain, given = set(), [], False
    for _, op, _, name in instructions(code):
        if op in _BETWEEN:
            continue
        if op in _ATTRS and chain:
            chain.append(name)
            continue
        if chain and (given or op in ("STORE_ATTR", "DELETE_ATTR")):
            found.add(tuple(chain))
        given = chain in (["setattr"], ["delattr"])
        chain = [name] if op in _LOADS else []
    return found.union(*(assigned_targets(k) for k in code.co_consts if isinstance(k, types.CodeType)))


def variables(namespace):
    """Returns the names of a namespace that are variables of unfolded functions (see function_part), by what code of
    these functions calls them: a code object names them among its local or free variables."""
    found = {}
    for name in [n for n in namespace if "." in n]:
        found.setdefault(name.rpartition(".")[2], []).append(name)
    return found


def nested(code):
    """Yields a code object and those nested in it."""
    todo = [code]
    while todo:
        c = todo.pop()
        yield c
        todo.extend(k for k in c.co_consts if isinstance(k, types.CodeType))
