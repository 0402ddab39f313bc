"""Runs a command on a terminal, types Ctrl-C once it has said COUNT times "ready", prints all it said and its end."""
import os, pty, select, sys, time

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
said, typed, end = b"", False, time.monotonic() + 20
while time.monotonic() < end:
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            said += os.read(terminal, 4096)
        except OSError:  # the terminal's last process is gone
            break
    if not typed and said.count(b"ready") >= int(sys.argv[1]):
        os.write(terminal, b"\x03")
        typed = True
if time.monotonic() >= end:
    os.kill(pid, 9)
status = os.waitpid(pid, 0)[1]  # before the terminal goes: that would be a SIGHUP
os.close(terminal)
print(said.decode().replace("\r", ""))
print(f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}")
