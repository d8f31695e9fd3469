"""A Ray head for tests: prints its address as JSON once it answers, and ends with all its processes when standard input closes, that is, also
when the test was killed. Arguments: folder for everything it writes; the token to ask for."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

folder, token = sys.argv[1:3]
MARK = "HOPGATE_TEST_RAY"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ours(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{MARK}={folder}".encode() in file.read().split(b"\0")
    except OSError:
        return False


def end_all(head: subprocess.Popen) -> None:
    # Jobs leave the head's process group; what all have in common is the mark in their environment.
    for _ in range(3):
        try:
            os.killpg(head.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
            if int(pid) != os.getpid() and ours(pid):
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        time.sleep(0.1)
    head.wait()
    shutil.rmtree(folder, ignore_errors=True)


def answers(address: str) -> bool:
    request = urllib.request.Request(f"{address}/api/version", headers={"authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def main() -> int:
    port = free_port()
    environment = {
        **os.environ,
        MARK: folder,
        "HOME": folder,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
    }
    settings = {
        "port": 0,
        "dashboard-host": "127.0.0.1",
        "dashboard-port": port,
        "ray-client-server-port": free_port(),
        "min-worker-port": 0,
        "max-worker-port": 0,
        "num-cpus": 1,
        "num-gpus": 0,
        "object-store-memory": 80_000_000,
        "include-log-monitor": "false",
        "temp-dir": folder,
    }
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"]
    command += [f"--{name}={value}" for name, value in settings.items()]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "start.log"), "wb") as log:
        head = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        address = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 150
        while not answers(address):
            if head.poll() is not None or time.monotonic() > until:
                with open(os.path.join(folder, "start.log"), encoding="utf8") as log:
                    print(log.read()[-4000:], file=sys.stderr)
                return 1
            time.sleep(0.2)
        print(json.dumps({"address": address}), flush=True)
        sys.stdin.read()
        return 0
    finally:
        end_all(head)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
