"""Row 16: the sandbox attacks what serves it; exec, files and stop still answer."""


def test_everything_at_once(make_box, harenad):
    box = make_box()
    assert box.attack("attack-servers", timeout=300).exit.signal is None
    assert box.trusted("echo answered").stdout == "answered\n"
    box.trusted("chmod 755 / /tmp; rm -f /tmp/full /dev/shm/full")
    box.sandbox.files.write("/tmp/written", b"content")
    assert box.sandbox.files.read("/tmp/written") == b"content"
    assert box.sandbox.commands.list()
    box.sandbox.stop()
    assert box.sandbox.refresh().state == "stopped"


def test_a_stopped_world_goes_on_answering(box):
    """SIGSTOP to everything, again and again."""
    stopper = box.sandbox.commands.start(
        "while true; do for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || kill -STOP $p; done 2>/dev/null; done")
    try:
        for turn in range(20):
            box.sandbox.files.write("/tmp/f", b"x")
            assert box.sandbox.files.read("/tmp/f") == b"x"
    finally:
        stopper.kill()
    assert box.shell("echo free").stdout == "free\n"


def test_a_full_disk_of_tmp_and_shm(make_box):
    box = make_box(tmpfs={"/tmp": "4MiB"}, shm="1MiB")
    box.shell("cat /dev/zero > /tmp/full; cat /dev/zero > /dev/shm/full")
    assert box.shell("echo answered").stdout == "answered\n"
    box.sandbox.files.write("/root/f", b"x")
    assert box.sandbox.files.read("/root/f") == b"x"


def test_a_paused_sandbox_that_attacks_is_stopped(make_box):
    box = make_box()
    box.sandbox.commands.start("while true; do :; done")
    box.sandbox.pause()
    box.sandbox.stop()
