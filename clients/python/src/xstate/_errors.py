"""Errors of calls."""


class CallError(Exception):
    """A call has no result. code is a stable word, hint says what may help."""

    def __init__(self, message, code="", hint=""):
        super().__init__(message)
        self.message, self.code, self.hint = message, code, hint

    def __reduce__(self):
        return type(self), (self.message, self.code, self.hint)

    def __str__(self):
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ToolError(CallError):
    """The tool answered that it cannot, or does not exist, or does not take these arguments."""


class CallLost(CallError):
    """No answer came."""


class CallDenied(CallError):
    """A rule or a person forbids the call."""


class NotPlain(TypeError):
    """A value is not plain data: null, booleans, finite numbers, text, lists, and maps with text as keys."""


class Suspended(BaseException):
    """The call waits for a decision. The block ends here, and runs again after the decision.

    It does not derive from Exception, so that a program that continues after any error does not continue after this
    one."""

    def __init__(self, message="", hint=""):
        super().__init__(message)
        self.message, self.hint = message, hint

    def __reduce__(self):
        return type(self), (self.message, self.hint)


class BudgetSpent(Suspended):
    """A limit on calls or costs is reached. The block runs again when the next run finds a higher one."""


for _class in (CallError, ToolError, CallLost, CallDenied, NotPlain, Suspended, BudgetSpent):
    _class.__module__ = __package__  # the module that tracebacks show and programs import from

_CLASSES = {
    "tool-refused": ToolError,
    "no-tool": ToolError,
    "tool-arguments": ToolError,
    "tool-result": ToolError,
    "call-denied": CallDenied,
}


def error_of(error, suspended=False):
    """Returns the exception that an error of the engine is."""
    code, message, hint = error.get("code", ""), error.get("message", ""), error.get("hint", "")
    if code == "budget-spent":
        return BudgetSpent(message, hint)
    if suspended:
        return Suspended(message, hint)
    return _CLASSES.get(code, CallLost)(message, code, hint)
