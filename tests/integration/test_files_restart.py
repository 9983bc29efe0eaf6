"""Uploads across a crash of harenad."""

from files_support import Files, begin_put, shim_of, wait_until, workers_of


def test_uploads_across_a_kill_of_harenad(harenad, args):
    """20 uploads in progress, harenad killed with -9 and started again."""
    with harenad.client() as client:
        sandbox = client.create(args)
    files = Files(harenad, sandbox.id)
    files.sh("mkdir -p /work/up; printf old > /work/up/kept")
    shim = shim_of(sandbox.id)
    idle = workers_of(shim)
    names = ["kept"] + [f"new{i}" for i in range(19)]
    uploads = [begin_put(files, files.url(path=f"/work/up/{name}"), b"x" * 300_000, 1_000_000) for name in names]
    wait_until(lambda: len(workers_of(shim, idle)) == 20, "not all uploads began")
    harenad.kill()
    try:
        wait_until(lambda: not workers_of(shim, idle), "workers outlive their clients")
    finally:
        harenad.start()
    files.close()
    files = Files(harenad, sandbox.id)
    assert files.sh("ls -A /work/up; cat /work/up/kept") == "kept\nold"
    for upload in uploads:
        upload.close()
    # The same sandbox takes them whole now.
    for name in names:
        files.ok(f"/work/up/{name}", b"y" * 1_000_000)
    assert files.sh("cat /work/up/* | wc -c") == "20000000\n"
    files.close()
    with harenad.client() as client:
        client.get(sandbox.id).stop()
