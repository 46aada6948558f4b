"""Judges that values which are equal, or look alike, and which a program can still tell apart have different
fingerprints."""

import argparse
import ast
import collections
import contextvars
import csv
import ctypes
import dataclasses
import decimal
import enum
import functools
import graphlib
import heapq
import io
import ipaddress
import itertools
import logging
import math
import operator
import queue
import random
import re
import string
import struct
import sys
import textwrap
import threading
import types
import typing
import uuid
import weakref
from array import array
from collections import OrderedDict, defaultdict, Counter, deque, ChainMap, namedtuple
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path, PurePath
from types import MappingProxyType, SimpleNamespace

from xstate_kernel.value import fingerprint


class S(str):
    pass


class I(int):
    pass


class L(list):
    pass


class D(dict):
    pass


class TD(timedelta):
    pass


class T2(string.Template):
    pass


P = namedtuple("P", "a b")
Q = namedtuple("Q", "a b")


class Box:
    def __init__(self, **kw):
        self.__dict__.update(kw)


class E(enum.IntEnum):
    A = 1


class F(enum.IntEnum):
    A = 1


@dataclasses.dataclass
class DC:
    a: object


class Eq:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return True

    def __hash__(self):
        return 1


class Slots:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


class Outer:
    class In:
        pass


class Outer2:
    class In:
        pass


class K0c:
    pass


K0 = K0c()


def mk(*a):
    return 0


def ro(a):
    a.flags.writeable = False
    return a


def withattr(o, v):
    o.a = v
    return o


def attrs(d):
    d.attrs["k"] = 1
    return d


def named(f):
    f.__name__ = "other"
    return f


def doc(f):
    f.__doc__ = "d"
    return f


def cause(e):
    e.__cause__ = ValueError(1)
    return e


def note(e):
    e.add_note("n") if hasattr(e, "add_note") else setattr(e, "__notes__", ["n"])
    return e


def at(f, n):
    f.seek(n)
    return f


def nx(i):
    next(i)
    return i


def dr(r):
    r.random()
    return r


# two values, and what tells them apart, of x
pairs = [
    ("1", "True", "repr(x)"),
    ("1", "1.0", "repr(x)"),
    ("0.0", "-0.0", "repr(x)"),
    ("(1,)", "(1.0,)", "repr(x)"),
    ("{1: 'a', 2: 'b'}", "{2: 'b', 1: 'a'}", "list(x)"),
    ("{1: 2}", "{True: 2}", "repr(x)"),
    ("{1, 2}", "{True, 2}", "sorted(map(repr, x))"),
    ("OrderedDict(a=1)", "dict(a=1)", "type(x).__name__"),
    ("defaultdict(list, a=1)", "defaultdict(int, a=1)", "x.default_factory"),
    ("Counter('a')", "{'a': 1}", "type(x).__name__"),
    ("deque([1], maxlen=3)", "deque([1])", "x.maxlen"),
    ("[1]", "deque([1])", "type(x).__name__"),
    ("bytearray(b'a')", "b'a'", "type(x).__name__"),
    ("'abc'", "S('abc')", "type(x).__name__"),
    ("5", "I(5)", "type(x).__name__"),
    ("[1]", "L([1])", "type(x).__name__"),
    ("{}", "D()", "type(x).__name__"),
    ("(1,2)", "P(1,2)", "type(x).__name__"),
    ("P(1,2)", "Q(1,2)", "type(x).__name__"),
    ("L([1])", "withattr(L([1]), 1)", "vars(x)"),
    ("Box(a=1)", "Box(a=1.0)", "vars(x)"),
    ("Box(a=1,b=2)", "Box(b=2,a=1)", "list(vars(x))"),
    ("Decimal('1.0')", "Decimal('1.00')", "str(x)"),
    ("Fraction(1,1)", "1", "type(x).__name__"),
    ("datetime(2020,1,1)", "datetime(2020,1,1,fold=1)", "x.fold"),
    ("timedelta(1)", "TD(1)", "type(x).__name__"),
    ("datetime(2020,1,1,tzinfo=timezone.utc)", "datetime(2020,1,1,1,tzinfo=timezone(timedelta(hours=1)))", "str(x)"),
    ("range(0)", "range(1,1)", "repr(x)"),
    ("range(0,3,2)", "range(0,4,2)", "repr(x)"),
    ("slice(1)", "slice(None,1,None)", "repr(x)"),
    ("re.compile('a')", "re.compile('a', re.I)", "x.flags"),
    ("partial(print, 1)", "partial(print, 1.0)", "x.args"),
    ("complex(0,0.0)", "complex(0,-0.0)", "repr(x)"),
    ("[0.0]", "[-0.0]", "repr(x)"),
    ("[float('nan')]", "[math.nan]", "x[0] is math.nan"),
    ("random.Random(1)", "random.Random(2)", "x.random()"),
    ("lambda: 1", "lambda: 1.0", "x()"),
    ("lambda: 1", "named(lambda: 1)", "x.__name__"),
    ("lambda a: a", "doc(lambda a: a)", "x.__doc__"),
    ("lambda: (1, 2)", "lambda: (True, 2)", "x()"),
    ("lambda: 0.0", "lambda: -0.0", "x()"),
    ("lambda a=1: a", "lambda a=True: a", "x()"),
    ("lambda: {1: 2}", "lambda: {1: 2.0}", "x()"),
    ("type('T', (), {'a': 1})", "type('T', (), {'a': True})", "x.a"),
    ("E.A", "1", "type(x).__name__"),
    ("E(1)", "F.A", "type(x).__name__"),
    ("Exception('a')", "ValueError('a')", "type(x).__name__"),
    ("cause(Exception('a'))", "Exception('a')", "x.__cause__"),
    ("note(Exception('a'))", "Exception('a')", "getattr(x, '__notes__', None)"),
    ("memoryview(b'ab')", "memoryview(b'ab').cast('b')", "x.format"),
    ("array('i',[1])", "array('l',[1])", "x.typecode"),
    ("uuid.UUID(int=1)", "uuid.UUID(int=1, is_safe=uuid.SafeUUID.safe)", "x.is_safe"),
    ("Path('a')", "PurePath('a')", "type(x).__name__"),
    ("string.Template('a')", "T2('a')", "type(x).__name__"),
    ("io.StringIO('a')", "at(io.StringIO('a'), 1)", "x.tell()"),
    ("io.BytesIO(b'a')", "at(io.BytesIO(b'a'), 1)", "x.tell()"),
    ("iter([1,2])", "nx(iter([1,2]))", "list(x)"),
    ("property(lambda s: 1)", "property(lambda s: 1, doc='d')", "x.__doc__"),
    ("operator.itemgetter(1)", "operator.itemgetter(True)", "repr(x)"),
    ("ChainMap({'a':1})", "ChainMap({}, {'a':1})", "len(x.maps)"),
    ("MappingProxyType({1:2})", "{1:2}", "type(x).__name__"),
    ("SimpleNamespace(a=1)", "SimpleNamespace(a=True)", "repr(x)"),
    ("threading.Lock()", "threading.RLock()", "type(x).__name__"),
    ("weakref.ref(K0)", "weakref.proxy(K0)", "type(x).__name__"),
    ("DC(1)", "DC(1.0)", "repr(x)"),
    ("frozenset([1,2])", "{1,2}", "type(x).__name__"),
    ("Eq(1)", "Eq(2)", "x.v"),
    ("[Eq(1)]", "[Eq(2)]", "x[0].v"),
    ("Slots(1)", "Slots(True)", "x.v"),
    ("type(1)", "bool", "x"),
    ("[1,[2]]", "[1,(2,)]", "repr(x)"),
    ("logging.getLogger('a')", "logging.getLogger('b')", "x.name"),
    ("itertools.count(1)", "itertools.count(2)", "next(x)"),
    ("zip([1],[2])", "map(max,[1],[2])", "next(x)"),
    ("'\\ud800'", "'?'", "ascii(x)"),
    ("'e\\u0301'", "'\\u00e9'", "ascii(x)"),
    ("Outer.In()", "Outer2.In()", "type(x).__qualname__"),
    ("classmethod(len)", "staticmethod(len)", "type(x).__name__"),
    ("functools.lru_cache(2)(mk)", "functools.lru_cache(3)(mk)", "x.cache_info().maxsize"),
    ("functools.cmp_to_key(mk)", "functools.cmp_to_key(len)", "type(x).__name__"),
    ("typing.List[int]", "list[int]", "repr(x)"),
    ("int | str", "typing.Union[int, str]", "repr(x)"),
    ("typing.Optional[int]", "int | None", "repr(x)"),
    ("struct.Struct('i')", "struct.Struct('<i')", "x.format"),
    ("ctypes.c_int(1)", "ctypes.c_long(1)", "type(x).__name__"),
    ("ctypes.c_int(1)", "ctypes.c_int(2)", "x.value"),
    ("csv.Sniffer()", "csv.DictReader([])", "type(x).__name__"),
    ("ast.parse('1')", "ast.parse('2')", "ast.dump(x)"),
    ("compile('1','','eval')", "compile('1.0','','eval')", "eval(x)"),
    ("types.ModuleType('a')", "types.ModuleType('b')", "x.__name__"),
    ("contextvars.ContextVar('a', default=1)", "contextvars.ContextVar('a', default=2)", "x.get()"),
    ("decimal.Context(prec=3)", "decimal.Context(prec=4)", "x.prec"),
    ("graphlib.TopologicalSorter({1:[2]})", "graphlib.TopologicalSorter({1:[3]})", "list(x.static_order())"),
    ("ipaddress.ip_address('1.1.1.1')", "int(ipaddress.ip_address('1.1.1.1'))", "type(x).__name__"),
    ("textwrap.TextWrapper(width=3)", "textwrap.TextWrapper(width=4)", "x.width"),
    ("argparse.Namespace(a=1)", "argparse.Namespace(a=True)", "repr(x)"),
    ("Fraction(1,2)", "0.5", "repr(x)"),
    ("random.Random(3)", "dr(random.Random(3))", "x.random()"),
    ("queue.Queue(1)", "queue.Queue(2)", "x.maxsize"),
    ("heapq.merge([1],[2])", "heapq.merge([1],[3])", "list(x)"),
    ("dict.fromkeys('ab').keys()", "dict.fromkeys('ba').keys()", "list(x)"),
    ("bytes(3)", "bytearray(3)", "type(x).__name__"),
    ("int.from_bytes(b'1')if False else 2**70", "float(2**70)", "repr(x)"),
    ("...", "Ellipsis.__class__", "repr(x)"),
]
try:
    import numpy as np
    import pandas as pd
except ImportError:
    pass
else:
    pairs += [
        ("np.arange(6)[::2]", "np.arange(6)[::2].copy()", "x.strides"),
        (
            "np.arange(6.).reshape(2,3)",
            "np.asfortranarray(np.arange(6.).reshape(2,3))",
            "(x.flags['C_CONTIGUOUS'], x.ravel(order='K').tolist(), x.strides)",
        ),
        ("np.arange(3)", "ro(np.arange(3))", "x.flags.writeable"),
        ("np.arange(3, dtype='<i4')", "np.arange(3, dtype='>i4')", "x.dtype.str"),
        ("np.array([1,2])", "np.matrix([1,2]).A1", "type(x).__name__"),
        ("np.array([[1,2]])", "np.matrix([[1,2]])", "type(x).__name__"),
        ("np.float64(1.5)", "1.5", "type(x).__name__"),
        ("np.int64(1)", "1", "type(x).__name__"),
        ("np.bool_(True)", "True", "type(x).__name__"),
        ("np.str_('a')", "'a'", "type(x).__name__"),
        ("np.array([0.0])", "np.array([-0.0])", "np.signbit(x).tolist()"),
        ("pd.Series([1,2])", "pd.Series([1,2], name='n')", "x.name"),
        ("pd.Series([1,2])", "pd.Series([1,2], index=[0,1])", "type(x.index).__name__"),
        ("pd.DataFrame({'a':[1]})", "pd.DataFrame({'a':[1]}).rename_axis('i')", "x.index.name"),
        ("pd.DataFrame({'a':[1]})", "pd.DataFrame({'a':[1]}).rename_axis('i', axis=1)", "x.columns.name"),
        ("pd.DataFrame({'a':[1]})", "attrs(pd.DataFrame({'a':[1]}))", "x.attrs"),
        (
            "pd.DataFrame({'a':[1]})",
            "pd.DataFrame({'a':[1]}).set_flags(allows_duplicate_labels=False)",
            "x.flags.allows_duplicate_labels",
        ),
        ("pd.Series([1,2], dtype='int64')", "pd.Series([1,2], dtype='Int64')", "x.dtype"),
        ("pd.Series(['a'], dtype=object)", "pd.Series(['a'], dtype='string')", "x.dtype"),
        ("pd.Categorical(['a','b'])", "pd.Categorical(['a','b'], categories=['b','a'])", "list(x.categories)"),
        ("pd.Categorical(['a','b'])", "pd.Categorical(['a','b'], ordered=True)", "x.ordered"),
        ("pd.date_range('2020','2020-01-03')", "pd.DatetimeIndex(['2020-01-01','2020-01-02','2020-01-03'])", "x.freq"),
        ("pd.Timestamp('2020')", "datetime(2020,1,1)", "type(x).__name__"),
        ("pd.Timestamp('2020')", "pd.Timestamp('2020').as_unit('s')", "x.unit"),
        ("pd.Index([1,2])", "pd.RangeIndex(1,3)", "type(x).__name__"),
        ("pd.NA", "None", "repr(x)"),
        ("pd.NaT", "None", "repr(x)"),
        ("pd.Series([1.0,None])", "pd.Series([1.0,None], dtype=object)", "repr(x[1])"),
        ("pd.Series([None], dtype=object)", "pd.Series([float('nan')], dtype=object)", "repr(x[0])"),
        ("pd.MultiIndex.from_tuples([(1,2)])", "pd.MultiIndex.from_tuples([(1,2)], names=['a','b'])", "x.names"),
        (
            "pd.MultiIndex.from_product([[1],[2,3]])",
            "pd.MultiIndex.from_product([[1],[2,3,4]])[:2]",
            "[list(l) for l in x.levels]",
        ),
        ("np.zeros(2, dtype=[('a','i4')])", "np.zeros(2, dtype=np.dtype([(('t','a'),'i4')]))", "x.dtype.fields['a']"),
        ("np.dtype('f8')", "np.dtype('f8', metadata={'k':1})", "x.metadata"),
        ("np.ma.array([1,2], mask=[0,1])", "np.ma.array([1,3], mask=[0,1])", "x.data.tolist()"),
        ("np.ma.array([1], fill_value=7)", "np.ma.array([1], fill_value=8)", "x.fill_value"),
        ("np.random.default_rng(1)", "np.random.Generator(np.random.MT19937(1))", "type(x.bit_generator).__name__"),
    ]

# Many atoms are written together.
many = [
    "['a'] * 300",
    "['b'] * 300",
    "[''] * 300",
    "['a'] * 299",
    "['a\\0'] + ['a'] * 299",
    "['a\\0a'] + ['a'] * 298",
    "['a', ''] * 150",
    "['', 'a'] * 150",
    "['a'] * 150 + [1] * 150",
    "[1] * 150 + ['a'] * 150",
    "[1] * 150 + ['1'] * 150",
    "[True] * 150 + ['a'] * 150",
    "[1.0] * 150 + ['a'] * 150",
    "[1, 'a'] * 150",
    "[None] * 150 + ['None'] * 150",
    "[None] * 300",
    "['\\ud800'] * 300",
    "['?'] * 300",
    "['\\0'] * 300",
    "['\\0\\0'] * 150",
    "[b'a'] * 300",
    "[0.0] * 150 + ['a'] * 150",
    "[-0.0] * 150 + ['a'] * 150",
    "[['a'] * 300]",
    "[['a'] * 150, ['a'] * 150]",
    "[['a'] * 150, ('a',) * 150]",
    "[['a'] * 149, ['a'] * 151]",
    "{str(i): i for i in range(300)}",
    "{i: str(i) for i in range(300)}",
    "{str(i): str(i + 1) for i in range(300)}",
    "{str(i + 1): str(i) for i in range(300)}",
    "[{'a': 'b'}] * 1 + [{'c': 'd'} for _ in range(200)]",
    "[{'b': 'a'}] * 1 + [{'c': 'd'} for _ in range(200)]",
    "[{'a': 1, 'b': 'x'} for _ in range(200)]",
    "[{'a': 'x', 'b': 1} for _ in range(200)]",
    "[{'a': 1.0, 'b': 'x'} for _ in range(200)]",
    "['a'] * 70000",
    "['a'] * 65536 + ['b'] * 4464",
    "['a'] * 65535 + ['b'] * 4465",
]
pairs += [(one, two, "repr(x)") for one, two in itertools.combinations(many, 2)]


def value(text):
    return eval(text, globals())


fingers = fingerprint.Fingerprinter(globals(), types.SimpleNamespace(loaded=lambda: [], holder=lambda names: None))
told = 0
for one, two, probe in pairs:
    a, b = fingers.of(value(one)), fingers.of(value(two))
    if repr(eval(probe, globals(), {"x": value(one)})) == repr(eval(probe, globals(), {"x": value(two)})):
        continue  # this interpreter does not tell them apart
    told += 1
    if not a.opaque and not b.opaque and a.digest == b.digest:
        sys.exit("%s and %s have one digest, and differ in %s" % (one, two, probe))
print("%d of %d pairs" % (told, len(pairs)))
