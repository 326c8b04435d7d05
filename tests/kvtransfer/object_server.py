# SPDX-License-Identifier: BSD-3-Clause
# A small object store: PUT, GET with a range and DELETE of what is in memory. It prints its port,
# and at the end how many objects are left. An argument is a mistake that it makes: `wrong` flips a
# bit of what it gives, `short` gives a byte less than it says, `refuse` takes nothing, `full` has
# room for 4 KiB only.
import http.server
import signal
import sys

mistake = sys.argv[1] if len(sys.argv) > 1 else ""
objects = {}


class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if mistake == "refuse":
            self.answer(403)
            return
        if mistake == "full" and len(body) > 4096:
            self.answer(507)
            return
        objects[self.path] = body
        self.answer(200)

    def do_GET(self):
        body = objects.get(self.path)
        if body is None:
            self.answer(404)
            return
        first, last = self.headers["Range"].split("=")[1].split("-")
        part = bytearray(body[int(first) : int(last) + 1])
        if mistake == "wrong":
            part[len(part) // 2] ^= 1
        if mistake == "short":
            self.close_connection = True
            self.answer(206, bytes(part[:-1]), len(part))
            return
        self.answer(206, bytes(part))

    def do_DELETE(self):
        self.answer(204 if objects.pop(self.path, None) is not None else 404)

    def log_message(self, format, *args):
        pass


def leave(*_):
    print(len(objects), flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, leave)
address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
server = http.server.ThreadingHTTPServer((address, 0), Store)
print(server.server_address[1], flush=True)
server.serve_forever()
