"""A connection to a host that stalls, for ssh's ProxyCommand: stalling_line.py BYTES NOTES HOST PORT forwards all input
to the host, but only the first BYTES of its answers. After that no byte arrives, and the connection stays open. The
file NOTES contains the number of bytes that were forwarded from the host."""
import os
import select
import socket
import sys


def main():
    left, notes, host, port = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    passed = 0
    with socket.create_connection((host, port)) as far:
        while True:
            ready, _, _ = select.select([0, far] if left else [0], [], [])
            if 0 in ready:
                data = os.read(0, 65536)
                if not data:
                    break
                far.sendall(data)
            if far in ready:
                data = far.recv(min(65536, left))
                if not data:
                    break
                os.write(1, data)
                passed += len(data)
                left -= len(data)
                with open(notes, "w", encoding="ascii") as file:
                    file.write(f"{passed}\n")


if __name__ == "__main__":
    sys.exit(main())
