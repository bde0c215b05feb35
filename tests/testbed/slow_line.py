"""A command behind a slow, long line: slow_line.py BYTES_PER_SECOND SECONDS COMMAND…

Each way carries so many bytes a second, and each byte arrives so much later. For `--exec`, where the kernel has no
netem: to the launcher and the agent it is the same as a slow link, since only the stream between them is seen."""
import os
import queue
import subprocess
import sys
import threading
import time

CHUNK = 1400
LATE = 0.05  # of a sleep on a busy machine, made good by the next


def carry(source, target, rate, delay):
    """Takes no more off `source` than the line carries, so that its writer feels the line. Ends at end of file."""
    on_the_way = queue.Queue()

    def arrive():
        while (item := on_the_way.get()) is not None:
            due, data = item
            time.sleep(max(0, due - time.monotonic()))
            try:
                while data:
                    data = data[os.write(target, data):]
            except OSError:  # nobody reads there; the line goes on
                pass
        os.close(target)

    arriving = threading.Thread(target=arrive)
    arriving.start()
    free = time.monotonic()
    while data := os.read(source, CHUNK):
        free = max(free, time.monotonic() - LATE) + len(data) / rate
        time.sleep(max(0, free - time.monotonic()))
        on_the_way.put((time.monotonic() + delay, data))
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
