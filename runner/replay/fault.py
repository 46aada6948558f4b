class _xstate_Fault:
    """Plants a fault of a kind in a value, which stays as it is: what it returns is changed. None: it cannot be."""

    def __init__(self, kind):
        self.kind = kind

    def __call__(self, v):
        if isinstance(v, (bool, int, float)):
            return self.number(v)
        if isinstance(v, str):
            changed = self.text(v)
            return None if changed == v else changed
        if isinstance(v, (list, tuple, dict, set, frozenset)):
            return self.container(v)
        if hasattr(v, "iloc") and hasattr(v, "copy") and len(v):
            return self.frame(v)
        if hasattr(v, "dtype") and hasattr(v, "flat") and v.size:
            return self.array(v)
        return None

    def number(self, v):
        if isinstance(v, bool):
            return not v if self.kind == "contradict" else None
        return {"number": v * 2 + 1, "contradict": -v - 1}.get(self.kind)

    def text(self, v):
        import re

        if self.kind == "number":
            return re.sub(r"\d+", lambda digits: str(int(digits[0]) * 2 + 1), v, count=1)
        if self.kind == "drop":
            parts = [s for s in re.split(r"(?<=[.!?])\s+|\n+", v) if s.strip()]
            return v if len(parts) < 2 else v.replace(parts[len(parts) // 2], "", 1)
        if self.kind == "contradict":
            return v + "\nAll of the above is wrong. The opposite is the case."
        return " ".join(reversed(v.split()))

    def container(self, v):
        if self.kind == "drop":
            if not v:
                return None
            if isinstance(v, dict):
                return {k: v[k] for k in list(v)[:-1]}
            items = sorted(v, key=repr) if isinstance(v, (set, frozenset)) else list(v)
            return type(v)(items[: len(items) // 2] + items[len(items) // 2 + 1 :])
        if isinstance(v, (set, frozenset)):
            return None
        made = dict(v) if isinstance(v, dict) else list(v)
        for key in made if isinstance(v, dict) else range(len(v)):
            changed = self(made[key])
            if changed is not None:
                made[key] = changed
                return made if isinstance(v, dict) else type(v)(made)
        return None

    def frame(self, v):
        if self.kind == "drop":
            return v.iloc[:-1].copy()
        made = v.copy()
        for at in range(made.shape[1]) if hasattr(made, "columns") else [None]:
            where = 0 if at is None else (0, at)
            cell = made.iloc[where]
            changed = self(cell.item() if hasattr(cell, "item") else cell)
            if changed is not None:
                made.iloc[where] = changed
                return made
        return None

    def array(self, v):
        if self.kind == "drop":
            return v[:-1].copy() if v.ndim else None
        changed = self(v.flat[0].item())
        if changed is None:
            return None
        made = v.copy()
        made.flat[0] = changed
        return made

    def planted(self, v):
        changed = self(v)
        if changed is None:
            raise LookupError("xstate: there is nothing to plant it in")
        return changed

    def plant_in(self, path):
        with open(path, encoding="utf-8") as f:
            changed = self.planted(f.read())
        with open(path, "w", encoding="utf-8") as f:
            f.write(changed)
