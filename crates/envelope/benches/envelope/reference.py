"""Times the reference codec. Says what it is, then answers each line `<operation> <times>` with the nanoseconds it took."""

import platform
import sys
import time
from importlib.metadata import version

from babelqueue.codec import EnvelopeCodec

raw = sys.argv[1]
envelope = EnvelopeCodec.decode(raw)
assert EnvelopeCodec.encode(envelope) == raw
assert EnvelopeCodec.poison_cause(raw) is None


def receive(raw):
    if EnvelopeCodec.poison_cause(raw) is None:
        return EnvelopeCodec.decode(raw)


operations = {
    "encode": (EnvelopeCodec.encode, envelope),
    "decode": (EnvelopeCodec.decode, raw),
    "poison_cause": (EnvelopeCodec.poison_cause, raw),
    "receive": (receive, raw),
}
print(f"babelqueue {version('babelqueue')}, Python {platform.python_version()}", flush=True)
for line in sys.stdin:
    name, times = line.split()
    function, argument = operations[name]
    turns = range(int(times))
    begin = time.perf_counter_ns()
    for _ in turns:
        function(argument)
    print(time.perf_counter_ns() - begin, flush=True)
