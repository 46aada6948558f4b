"""Adapters of agent frameworks (docs/adapters.md). Each module imports its framework."""
