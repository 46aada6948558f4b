"""Digests of code objects: by what they do, not by layout, line or file."""

import ast
import dis
import marshal
import sys
import types

from xstate_kernel import original as __builtins__

from .. import blake2b
from ..ground.atoms import ATOMS
from . import sets

_code_digests = {}


def flatten(code, source, flags):
    """Gives the code objects nested in code the digest they would have if all of the source were on one line.

    Bytecode depends on layout: from 3.13 on two loads become one instruction only if they are on one line.
    """
    if not any(isinstance(k, types.CodeType) for k in code.co_consts):
        return
    flatten_tree(code, compile(source, "", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True), "exec", flags)


def flatten_tree(code, tree, mode, flags):
    """The same for code that was compiled from a tree, which is of no use then."""
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    _pair(code, compile(tree, "", mode, flags, dont_inherit=True))


def _pair(code, flat):
    inner = [k for k in code.co_consts if isinstance(k, types.CodeType)]
    flats = [k for k in flat.co_consts if isinstance(k, types.CodeType)]
    if [k.co_name for k in inner] != [k.co_name for k in flats]:
        return
    for a, b in zip(inner, flats):
        _pair(a, b)
        _code_digests[_key(a)] = digest(b)


def known(code, stored=None):
    """Returns the digest of a code object; sets it first when one is given (for code that was stored)."""
    if stored is not None:
        _code_digests.setdefault(_key(code), stored)
    return digest(code)


def _key(code):
    return code, sets.constants(code)


def digest(c):
    key = _key(c)
    d = _code_digests.get(key)
    if d is None:
        h = blake2b(digest_size=20)
        for part in (
            c.co_name,
            c.co_argcount,
            c.co_posonlyargcount,
            c.co_kwonlyargcount,
            c.co_flags,
            c.co_names,
            c.co_varnames,
            c.co_freevars,
            c.co_cellvars,
        ):
            h.update(marshal.dumps(part, 2))
        _instructions(h, c)
        for const in c.co_consts:
            _const(h, const)
        d = _code_digests[key] = h.digest()
    return d


_NO_EFFECT = frozenset(("NOP", "CACHE", "EXTENDED_ARG", "RESUME"))
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)


def _instructions(h, c):
    """Hashes what a code object does. Not its bytes: a line break inside an expression may add a NOP."""
    places, kept = {}, []
    for ins in dis.get_instructions(c):
        places[ins.offset] = len(kept)
        if ins.opname not in _NO_EFFECT:
            kept.append(ins)
    for ins in kept:
        arg = places.get(ins.argval, ins.argval) if ins.opcode in _JUMPS else ins.arg
        h.update(b"%d %d;" % (ins.opcode, -1 if arg is None else arg))
    if sys.version_info >= (3, 11):
        for e in dis._parse_exception_table(c):
            h.update(
                b"%d-%d>%d %d %d;"
                % (
                    places.get(e.start, e.start),
                    places.get(e.end, e.end),
                    places.get(e.target, e.target),
                    e.depth,
                    e.lasti,
                )
            )


def _const(h, const):
    if isinstance(const, types.CodeType):
        h.update(b"c")
        h.update(digest(const))
    elif isinstance(const, tuple):
        h.update(b"t%d;" % len(const))
        for x in const:
            _const(h, x)
    elif isinstance(const, frozenset):
        h.update(b"f" + marshal.dumps(sets.table(const), 2))
        for x in const:
            _const(h, x)
    elif type(const) in ATOMS:
        h.update(marshal.dumps(const, 2))
    else:
        h.update(repr(const).encode())
