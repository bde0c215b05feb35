"""Runs a command through a slow connection with a long delay: slow_line.py BYTES_PER_SECOND SECONDS COMMAND…

Each direction carries BYTES_PER_SECOND, and each byte is delayed by SECONDS. For `--exec`, if the kernel lacks netem:
launcher and agent use only the stream between them, so the effect is that of a slow link."""
import os
import queue
import subprocess
import sys
import threading
import time

CHUNK = 1400
LATE = 0.05  # seconds by which a sleep may be late on a busy machine; the next sleep is shorter


def carry(source, target, rate, delay):
    """Reads no more from `source` than the line can carry, so that the writer is slowed down. Ends at end of file."""
    on_the_way = queue.Queue()

    def arrive():
        while (item := on_the_way.get()) is not None:
            due, data = item
            time.sleep(max(0, due - time.monotonic()))
            try:
                while data:
                    data = data[os.write(target, data):]
            except OSError:  # the reader has closed its side; the line continues
                pass
        os.close(target)

    arriving = threading.Thread(target=arrive)
    arriving.start()
    free = time.monotonic()
    try:
        while data := os.read(source, CHUNK):
            free = max(free, time.monotonic() - LATE) + len(data) / rate
            time.sleep(max(0, free - time.monotonic()))
            on_the_way.put((time.monotonic() + delay, data))
    except OSError:  # ECONNRESET: the caller was killed before it read all data
        pass
    on_the_way.put(None)
    arriving.join()


def main():
    rate, delay = float(sys.argv[1]), float(sys.argv[2])
    far = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    there = threading.Thread(target=carry, args=(0, os.dup(far.stdin.fileno()), rate, delay), daemon=True)
    far.stdin.close()
    there.start()
    carry(far.stdout.fileno(), os.dup(1), rate, delay)
    return far.wait()


if __name__ == "__main__":
    sys.exit(main())
