#!/usr/bin/env python3
"""wasm-ld 19 with a mistake of it mended: in a program without threads, the address of a thread_local variable is counted twice.

The variable's offset is then its whole address already, and the code adds the global __tls_base, where they begin, which should
be 0 (LLVM 20 mends it). With names kept, the linker's output tells which global that is.
"""
import pathlib
import shlex
import subprocess
import sys

LINKER = "/usr/bin/wasm-ld-19"
CUSTOM, IMPORT, GLOBAL = 0, 2, 6
GLOBAL_NAMES = 7  # the part of the names that is about globals
ZERO = bytes([0x41, 0x00, 0x0B])  # i32.const 0, end


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def bytes(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def text(self):
        return self.bytes(self.number()).decode()

    def limits(self):
        for _ in range(2 if self.byte() & 1 else 1):
            self.number()

    def value_of_global(self):
        """The bytes that compute a global's first value, their end included."""
        begin = self.at
        while (code := self.byte()) != 0x0B:
            if code in (0x41, 0x42, 0x23):  # a constant integer, another global
                self.number()
            elif code in (0x43, 0x44):
                self.bytes(4 if code == 0x43 else 8)
            elif code not in (0x6A, 0x6B, 0x6C):  # sums and products
                sys.exit(f"wasm_ld.py: a global's value has the unknown instruction {code:#x}")
        return self.data[begin:self.at]


def number(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def sections(module):
    reader = Reader(module)
    reader.bytes(8)
    while reader.at < len(module):
        yield reader.byte(), reader.bytes(reader.number())


def imported_globals(payload):
    reader, count = Reader(payload), 0
    for _ in range(reader.number()):
        reader.text(), reader.text()
        kind = reader.byte()
        if kind == 1:
            reader.byte()
        if kind in (1, 2):
            reader.limits()
        elif kind == 3:
            reader.bytes(2)
            count += 1
        else:
            reader.bytes(1 if kind == 4 else 0)
            reader.number()
    return count


def index_of(name, payload):
    """The global of that name, by a module's section of names; None where there is none."""
    reader = Reader(payload)
    reader.text()
    while reader.at < len(payload):
        kind, part = reader.byte(), Reader(reader.bytes(reader.number()))
        for _ in range(part.number() if kind == GLOBAL_NAMES else 0):
            index = part.number()
            if part.text() == name:
                return index
    return None


def with_zero(payload, index):
    reader = Reader(payload)
    count = reader.number()
    out = bytearray(number(count))
    for each in range(count):
        out += reader.bytes(2)
        value = reader.value_of_global()
        out += ZERO if each == index else value
    return bytes(out)


def mended(module, strip):
    parts = list(sections(module))
    is_named = {id(part): Reader(part[1]).text() for part in parts if part[0] == CUSTOM}
    index = next((index_of("__tls_base", part[1]) for part in parts if is_named.get(id(part)) == "name"), None)
    imported = sum(imported_globals(payload) for kind, payload in parts if kind == IMPORT)
    out = bytearray(module[:8])
    for part in parts:
        kind, payload = part
        if strip and is_named.get(id(part), "").startswith(("name", ".debug_")):
            continue
        if kind == GLOBAL and index is not None:
            payload = with_zero(payload, index - imported)
        out += bytes([kind]) + number(len(payload)) + payload
    return bytes(out)


def expanded(arguments):
    """Emscripten gives long command lines as a file of words: @FILE."""
    for each in arguments:
        if each.startswith("@"):
            yield from shlex.split(pathlib.Path(each[1:]).read_text())
        else:
            yield each


def main():
    arguments = list(expanded(sys.argv[1:]))
    if "--shared-memory" in arguments or "-o" not in arguments or "-r" in arguments or "--relocatable" in arguments:
        sys.exit(subprocess.call([LINKER, *arguments]))
    strip = {"--strip-debug", "--strip-all", "-s", "-S"} & set(arguments)
    status = subprocess.call([LINKER, *(each for each in arguments if each not in strip)])
    if status == 0:
        output = pathlib.Path(arguments[arguments.index("-o") + 1])
        output.write_bytes(mended(output.read_bytes(), bool(strip)))
    sys.exit(status)


if __name__ == "__main__":
    main()
