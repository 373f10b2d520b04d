"""A FastCGI client of one request: speaks to the app without nginx."""

import socket
import struct

BEGIN, PARAMS, STDIN, STDOUT, END = 1, 4, 5, 6, 3


def record(kind, content):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def length(value):
    size = len(value)
    return struct.pack(">B", size) if size < 128 else struct.pack(">I", size | 1 << 31)


def parameters(pairs):
    out = b""
    for name, value in pairs.items():
        name, value = name.encode(), value.encode()
        out += length(name) + length(value) + name + value
    return out


def request(path, method, uri, body=b"", content_type="application/json", **more):
    """The response's bytes, headers and all. `more`: parameters added, changed, or (None) left out."""
    with begin(path, method, uri, body, content_type, **more) as peer:
        return read_response(peer)


def begin(path, method, uri, body=b"", content_type="application/json", **more):
    """The connection after the request was sent; read_response(it) gives the response."""
    pairs = {
        "REQUEST_METHOD": method,
        "REQUEST_URI": uri,
        "DOCUMENT_URI": uri,
        "QUERY_STRING": uri.partition("?")[2],
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_HOST": "localhost",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
    }
    pairs = {name: value for name, value in (pairs | more).items() if value is not None}
    message = record(BEGIN, struct.pack(">HB5x", 1, 0))
    encoded = parameters(pairs)
    for start in range(0, len(encoded), 32768):
        message += record(PARAMS, encoded[start : start + 32768])
    message += record(PARAMS, b"")
    for start in range(0, len(body), 32768):
        message += record(STDIN, body[start : start + 32768])
    message += record(STDIN, b"")
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(60)
    peer.connect(path)
    peer.sendall(message)
    return peer


def read_response(peer):
    response = []
    with peer.makefile("rb") as stream:
        while True:
            header = stream.read(8)
            if len(header) < 8:
                return b"".join(response)
            _, kind, _, size, padding = struct.unpack(">BBHHBx", header)
            content = stream.read(size + padding)[:size]
            if kind == STDOUT:
                response.append(content)
            if kind == END:
                return b"".join(response)


def parse(response):
    """(status, headers in lower case, body) of a CGI response."""
    head, _, body = response.partition(b"\r\n\r\n")
    headers = {}
    for line in head.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    return int(headers.pop("status", "0").split(" ")[0]), headers, body
