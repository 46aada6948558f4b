"""scikit-learn: its options are hidden state."""

from xstate_kernel import original as __builtins__

from ..ground.hidden_variable import Variable
from .protocol import Adapter


class ScikitLearn(Adapter):
    packages = ("sklearn",)
    ignored_attribute = "_stop_words_id"  # an address
    unseen_draws = ("sklearn.callback._callback_context",)  # it draws to number its actions

    def __init__(self):
        self._options = None  # a function that returns the options, once scikit-learn is loaded

    def unseen_time(self, frame):
        """Estimators read clocks for what they print when they are verbose, for callbacks, and for results of cross
        validation, which cross_val_score drops."""
        module, here = frame.f_globals["__name__"], frame.f_locals
        if module == "sklearn.callback._callback_context":
            return not getattr(here.get("new_ctx"), "_callbacks", True)
        if here.get("verbose", getattr(here.get("self"), "verbose", True)):
            return False
        return not module.startswith("sklearn.model_selection.") or _dropped(frame)

    def variables(self):
        self.options = Variable("conf:sklearn", self._get, self._put, lambda: self._options is not None, "sklearn")
        return (self.options,)

    def after_import(self):
        return {"sklearn._config": self._watch}

    def _watch(self, hidden, module):
        variable = self.options
        self._options = original = module._get_threadlocal_config

        def wrapper():
            variable.touched = True
            return original()

        wrapper.__name__ = wrapper.__qualname__ = original.__name__
        wrapper.__module__, wrapper.__doc__ = module.__name__, original.__doc__
        module._get_threadlocal_config = wrapper
        variable.precise = True
        hidden.begin(variable)

    def _get(self):
        return dict(self._options())

    def _put(self, value):
        self._options().clear()
        self._options().update(value)


def _dropped(frame):
    """Reports whether the times of a fold are not a result."""
    if not frame.f_locals.get("return_times", True):
        return True
    while frame is not None and frame.f_code.co_name != "cross_validate":
        frame = frame.f_back
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("sklearn."):
        if frame.f_code.co_name == "cross_val_score":
            return True
        frame = frame.f_back
    return False


adapter = ScikitLearn()
