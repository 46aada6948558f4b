"""Statements whose lines are told in odd ways."""
import contextlib


def loops(n):
    """Says how far it came."""
    total = 0; done = False
    for i in range(n):
        if i == 3: continue
        total += i
    else:
        done = True
    while True:
        if total > 100:
            total = (total
                     - 1)
        elif total < 0:
            total = 0
        else:
            break
    return total, done


def handled(f):
    try:
        value = f()
        value += 1
    except (KeyError,
            IndexError) as error:
        value = str(error)
    except ZeroDivisionError:
        raise ValueError("zero")
    else:
        value = -value
    finally:
        global seen
        seen = True
    return value


def nested(items):
    scale = 2

    def inner(x):
        # a comment
        if x:
            return x * scale
        return None

    def never(x):
        return x

    def short(x): return x

    return [inner(i) for i in items
            if i != 4] + [
        short(1)]


def lazily(n):
    while n:
        yield n
        n -= 1
    yield "end"
    print("after the end")


@contextlib.contextmanager
def around(log):
    log.append("before")
    try:
        yield log
    except ValueError:
        log.append("failed")
    log.append("after")


def matched(value):
    match value:
        case [x, y]:
            return x + y
        case {"k": k} if k:
            return k
        case str():
            pass
        case _:
            assert value is None, (
                value)
    return "other"


def by_lambda(values):
    key = lambda v: (
        -v)
    late = (lambda:
            never_called())
    return sorted(values, key=key), late


class Box:
    """Holds."""

    size: int = 3
    if size > 5:
        big = True

    @property
    def half(self):
        return self.size / 2

    @half.setter
    def half(self, value):
        self.size = 2 * value

    def never(self):
        def deeper():
            return 1
        return deeper()
