"""Python's standard library, and curl where it is there, as clients of kiln/net: peer_test.py PEER"""
import base64
import hashlib
import http.client
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading


def certificate(folder):
    key, file = f"{folder}/key.pem", f"{folder}/certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", file, "-subj", "/CN=localhost", "-days", "2", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, capture_output=True)
    return file, key


def exactly(stream, size):
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        assert part, "the server has gone"
        data += part
    return data


def frame(opcode, data):
    """A client's frame, masked (RFC 6455, 5.2)."""
    mask = os.urandom(4)
    length = bytes([0x80 | len(data)]) if len(data) < 126 else struct.pack(">BH", 0xfe, len(data)) if len(data) < 1 << 16 else struct.pack(">BQ", 0xff, len(data))
    return bytes([0x80 | opcode]) + length + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))


def read_frame(stream):
    first, length = exactly(stream, 2)
    if length == 126:
        length, = struct.unpack(">H", exactly(stream, 2))
    elif length == 127:
        length, = struct.unpack(">Q", exactly(stream, 8))
    return first, exactly(stream, length)


def check_websocket(stream):
    key = base64.b64encode(os.urandom(16)).decode()
    stream.sendall(f"GET /socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += exactly(stream, 1)
    assert head.startswith(b"HTTP/1.1 101 "), head
    accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
    assert b"Sec-WebSocket-Accept: " + accept + b"\r\n" in head, head
    for size in (0, 1, 125, 126, 65535, 65536, 200000):
        data = os.urandom(size)
        stream.sendall(frame(2, data))
        assert read_frame(stream) == (0x82, data), size
    stream.sendall(frame(9, b"ping"))
    assert read_frame(stream) == (0x8a, b"ping")
    stream.sendall(frame(8, struct.pack(">H", 1000)))
    assert read_frame(stream) == (0x88, struct.pack(">H", 1000))
    assert stream.recv(1) == b""


def check_http(connection):
    for _ in range(3):  # on one connection
        connection.request("GET", "/hello")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"hello")
    data = os.urandom(3_000_000)
    connection.request("POST", "/echo", data, {"Content-Type": "application/octet-stream"})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Content-Type"], answer.read()) == (200, "application/octet-stream", data)
    connection.request("POST", "/echo", iter([b"in ", b"", b"chunks"]), encode_chunked=True)
    assert connection.getresponse().read() == b"in chunks"
    connection.request("GET", "/missing")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (404, b"there is no such page\n")
    connection.request("GET", "/events")
    assert connection.getresponse().read() == b"event: news\ndata: 1\n\nevent: news\ndata: 2\n\n"


def check_curl(plain, secure, authority):
    if not shutil.which("curl"):
        return
    curl = lambda *arguments, data=None: subprocess.run(["curl", "-sS", "--max-time", "60", *arguments], input=data, capture_output=True)
    data = os.urandom(2_000_000)
    assert curl(f"http://127.0.0.1:{plain}/hello").stdout == b"hello"
    assert curl("-H", "Expect: 100-continue", "--data-binary", "@-", f"http://127.0.0.1:{plain}/echo", data=data).stdout == data
    assert curl("--cacert", authority, f"https://localhost:{secure}/hello").stdout == b"hello"
    assert curl(f"https://localhost:{secure}/hello").returncode == 60  # it knows nobody who signed that


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        file, key = certificate(folder)
        peer = subprocess.Popen([program, file, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            plain, secure = map(int, peer.stdout.readline().split())
            trusting = ssl.create_default_context(cafile=file)
            check_http(http.client.HTTPConnection("127.0.0.1", plain, timeout=60))
            check_http(http.client.HTTPSConnection("localhost", secure, timeout=60, context=trusting))
            check_websocket(socket.create_connection(("127.0.0.1", plain), timeout=60))
            check_websocket(trusting.wrap_socket(socket.create_connection(("127.0.0.1", secure), timeout=60), server_hostname="localhost"))
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                one = ssl.create_default_context(cafile=file)
                one.minimum_version = one.maximum_version = version
                with one.wrap_socket(socket.create_connection(("127.0.0.1", secure)), server_hostname="localhost") as stream:
                    assert stream.version() == version.name.replace("_", "."), stream.version()
            try:
                ssl.create_default_context().wrap_socket(socket.create_connection(("127.0.0.1", secure)), server_hostname="localhost")
                raise AssertionError("an unknown authority was trusted")
            except ssl.SSLCertVerificationError:
                pass
            clients = [threading.Thread(target=lambda: check_websocket(socket.create_connection(("127.0.0.1", plain), timeout=60))) for _ in range(5)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
            check_curl(plain, secure, file)
        finally:
            peer.stdin.close()
            assert peer.wait(timeout=60) == 0


if __name__ == "__main__":
    main(sys.argv[1])
