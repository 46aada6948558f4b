"""Jupyter's own tests of a kernel (jupyter_kernel_test), for each language."""

import unittest

import jupyter_kernel_test
from jupyter_client.manager import KernelManager
from transport import sockets

HISTORY = ("tail", "search", "range")
WAIT = 60  # seconds that no message takes


class Patient(jupyter_kernel_test.KernelTests):
    """The tests, which wait for each message: the base class gives those of iopub a tenth of a second."""

    @classmethod
    def setUpClass(cls):
        cls.km = KernelManager(kernel_name=cls.kernel_name, **sockets())
        cls.km.start_kernel()
        cls.kc = cls.km.client()
        cls.kc.start_channels()
        cls.kc.wait_for_ready(timeout=WAIT)
        channel = cls.kc.iopub_channel
        get = channel.get_msg
        channel.get_msg = lambda timeout=None: get(timeout=WAIT)

    def flush_channels(self):
        """Takes all that came before an answer that is asked for now."""
        asked = self.kc.kernel_info()
        while self.kc.get_shell_msg(timeout=WAIT)["parent_header"].get("msg_id") != asked:
            pass
        while True:
            message = self.kc.get_iopub_msg(timeout=WAIT)
            idle = message["content"].get("execution_state") == "idle"
            if idle and message["parent_header"].get("msg_id") == asked:
                return


class Python(Patient):
    kernel_name = "xstate"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = [{"text": "zi", "matches": {"zip"}}]
    complete_code_samples = ["1", "print('hello, world')", "def f(x):\n  return x*2\n\n\n"]
    incomplete_code_samples = ["print('''hello", "def f(x):\n  x*2"]
    invalid_code_samples = ["import = 7q"]
    code_page_something = "zip?"
    code_generate_error = "raise"
    code_execute_result = [
        {"code": "1+2+3", "result": "6"},
        {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"},
    ]
    code_display_data = [
        {"code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))", "mime": "text/html"},
        {"code": "from IPython.display import Math, display; display(Math('x'))", "mime": "text/latex"},
    ]
    code_history_pattern = "1?2*"
    supported_history_operations = HISTORY
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"


class JavaScript(Patient):
    kernel_name = "xstate-javascript"
    language_name = "javascript"
    file_extension = ".js"
    code_hello_world = "console.log('hello, world')"
    code_stderr = "console.error('test')"
    completion_samples = [{"text": "functi", "matches": {"function"}}]
    code_generate_error = "throw new Error('x')"
    code_execute_result = [{"code": "1+2+3", "result": "6"}]
    code_history_pattern = "1?2*"
    supported_history_operations = HISTORY


class Bash(Patient):
    kernel_name = "xstate-bash"
    language_name = "bash"
    file_extension = ".sh"
    code_hello_world = "echo hello, world"
    code_stderr = "echo test >&2"
    completion_samples = [{"text": "whil", "matches": {"while"}}]
    code_history_pattern = "1?2*"
    supported_history_operations = HISTORY


del Patient  # or unittest would run its tests, too

if __name__ == "__main__":
    unittest.main()
