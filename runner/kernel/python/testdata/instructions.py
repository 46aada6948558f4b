"""Judges the decoder of bytecode by the standard library's, on the code of the standard library."""

import dis
import os
import types

from xstate_kernel.ground import bytecode

count = 0
todo = []
folder = os.path.dirname(os.__file__)
for name in sorted(os.listdir(folder)):
    if name.endswith(".py"):
        with open(os.path.join(folder, name), "rb") as f:
            todo.append(compile(f.read(), name, "exec", dont_inherit=True))
while todo:
    code = todo.pop()
    todo.extend(k for k in code.co_consts if isinstance(k, types.CodeType))
    got = [(offset, op, name) for offset, op, _, name in bytecode.instructions(code) if op != "CACHE"]
    want = [
        (i.offset, i.opname, i.argval if i.opcode in dis.hasname else None)
        for i in dis.get_instructions(code)
        if i.opname != "CACHE"
    ]
    assert got == want, (code, [pair for pair in zip(got, want) if pair[0] != pair[1]][:3])
    count += 1
assert count > 1000
print(count, "code objects")
