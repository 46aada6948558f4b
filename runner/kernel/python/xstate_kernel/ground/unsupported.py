"""Exceptions: why a value cannot be named by content, and why a group of names cannot be stored."""


class Opaque(Exception):
    """The value cannot be named by content. The engine names it by lineage instead."""


class Unstorable(Exception):
    """The group cannot be stored. The engine restores it by running again what made it."""
