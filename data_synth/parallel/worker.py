"""One worker of `gatt synth --workers N`: `gatt synth`, ended when its input ends."""

from __future__ import annotations

import os
import signal
import sys
import threading

from gatt.cli import main


def run(words: list[str]) -> int:
    """Run `gatt synth` with the given words; the end of standard input interrupts it as Ctrl-C."""
    # What a shell starts in the background inherits a SIGINT that is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_input, daemon=True).start()
    return main(["synth", *words])


def _end_with_input() -> None:
    # Not through sys.stdin, whose lock a thread must not hold when the interpreter ends.
    while os.read(0, 4096):
        pass
    main_thread = threading.main_thread().ident
    if main_thread is not None:
        signal.pthread_kill(main_thread, signal.SIGINT)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
