"""The proxy that records the requests of a program. A socket that is connected to it does not count as use of the
network."""

from xstate_kernel import original as __builtins__


def address(environ):
    """Returns the host and the port of the proxy that the environment names."""
    host, _, port = environ.get("HTTP_PROXY", "").rpartition("/")[2].rpartition(":")
    return host, int(port or 0)


def meant(proxy, event, args):
    """Reports whether an event of a socket is about the proxy, to look up its address or to connect to it, or about no
    other host."""
    if event == "socket.connect":
        to = args[1]
        return type(to) is tuple and to[:2] == proxy
    if event == "socket.bind":  # a library tries out what the system offers
        return type(args[1]) is tuple and args[1][0] in ("127.0.0.1", "::1") and args[1][1] == 0
    if event == "socket.getaddrinfo":
        return args[0] in (proxy[0], proxy[0].encode()) and str(args[1]) == str(proxy[1])
    return False
