"""python -m xstate_jupyter kernel -f FILE, or install. The command xstate kernel starts both."""

import os
import sys


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "install":
        from .install import install

        install(rest)
    else:
        _serve(rest)


def _serve(arguments: list[str]) -> None:
    from ipykernel.displayhook import ZMQDisplayHook
    from ipykernel.kernelapp import IPKernelApp

    from .kernel import NotebookKernel

    _forget_own_path()

    class Front(IPKernelApp):
        name = "xstate"

        def init_io(self) -> None:
            """Leaves stdout and stderr as they are: the program has others."""
            self.displayhook = ZMQDisplayHook(self.session, self.iopub_socket)

    Front.launch_instance(argv=arguments, kernel_class=NotebookKernel)
    # The functions that are registered for the exit stop iopub first, and the control channel waits for it for ever.
    front = Front.instance()
    front.control_thread.stop()
    front.control_thread.join()
    front.close()
    os._exit(0)


def _forget_own_path() -> None:
    """Takes the folder of this package out of PYTHONPATH: commands that start from here have the user's."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    rest = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != own]
    os.environ.pop("PYTHONPATH", None)
    if rest:
        os.environ["PYTHONPATH"] = os.pathsep.join(rest)


if __name__ == "__main__":
    main()
