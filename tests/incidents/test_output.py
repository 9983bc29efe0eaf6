"""Rows 3 and 11: logs and outputs live outside; floods end at a marker, and neither the disk nor the API suffers."""

import os

import pytest

MEBIBYTE = 1 << 20


def test_a_flood_is_cut_and_the_command_goes_on(box):
    result = box.attack("flood", str(200 * MEBIBYTE), output_limit_bytes=MEBIBYTE, timeout=300)
    assert result.exit.code == 0, result.exit
    assert len(result.stdout_bytes) == len(result.stderr_bytes) == MEBIBYTE
    assert result.stdout_truncated and result.stderr_truncated
    assert box.shell("echo still").stdout == "still\n"


def test_the_default_limit(box):
    result = box.attack("flood", str(66 * MEBIBYTE), timeout=300)
    assert result.exit.code == 0 and len(result.stdout_bytes) == 64 * MEBIBYTE and result.stdout_truncated


def test_a_flood_without_end_can_be_killed_by_its_limit(box):
    result = box.shell("yes", output_limit_bytes=MEBIBYTE, on_output_limit="kill")
    assert result.exit.cause == "output_limit" and len(result.stdout_bytes) == MEBIBYTE


def test_what_is_kept_outside_doesnt_grow(harenad, box):
    command = box.sandbox.commands.start("yes; true", output_limit_bytes=MEBIBYTE)
    try:
        # The stream is over its limit once its marker came; the command goes on.
        assert any(chunk.truncated for chunk in command.stream())
        kept = sum(path.stat().st_size for path in harenad.state.rglob("*.out"))
        assert kept <= 65 * MEBIBYTE, kept
        assert box.shell("echo beside").stdout == "beside\n"
    finally:
        command.kill()


@pytest.mark.skipif(os.environ.get("HARENA_LONG_TESTS") != "1", reason="writes more than a GiB; HARENA_LONG_TESTS=1 runs it")
def test_a_sandbox_has_a_total_too(harenad, box):
    """1 GiB of all its commands together, however many there are: the later ones are cut sooner."""
    for _ in range(18):
        result = box.attack("flood", str(70 * MEBIBYTE), timeout=300)
        assert result.exit.code == 0 and result.stdout_truncated
    kept = sum(path.stat().st_blocks * 512 for pattern in ("*.out", "*.err") for path in harenad.state.rglob(pattern))
    assert kept <= (1024 + 65) * MEBIBYTE, kept
    assert box.shell("echo beside").exit.code == 0


def test_command_logs_are_outside(box):
    secret = "result-" + box.id
    assert box.shell(f"echo {secret}").stdout == secret + "\n"
    # Split, so that the search's own command line isn't found.
    half = len(secret) // 2
    found = box.trusted(f"grep -rsl \"{secret[:half]}\"'{secret[half:]}' / --include='*' 2>/dev/null | grep -v ^/proc | head").stdout
    assert found == "", found
