"""User ports and envd over HTTPS: a certificate of `*.DOMAIN` by a CA of one's own, made as docs/e2b.md says."""

import http.client
import json
import shutil
import socket
import ssl
import subprocess
import tempfile

import pytest

from e2b_paths import BUILD

DOMAIN = "sbx.example.org"


def openssl(folder, *words):
    done = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def certificates(folder):
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-keyout", "ca.key", "-out", "ca.pem",
            "-subj", "/CN=Harena E2B CA")
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "e2b.key", "-out", "e2b.csr", "-subj", f"/CN={DOMAIN}")
    (folder / "names").write_text(f"subjectAltName=DNS:{DOMAIN},DNS:*.{DOMAIN}\n")
    openssl(folder, "x509", "-req", "-in", "e2b.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "825", "-out", "e2b.pem", "-extfile", "names")


@pytest.fixture(scope="module")
def daemon(harenad, tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("openssl isn't installed")
    if not (BUILD / "plugins" / "e2b").exists():
        pytest.skip("the plugin e2b isn't built")
    folder = tmp_path_factory.mktemp("tls")
    certificates(folder)
    home = tempfile.mkdtemp(prefix="harena-tls-")
    made = type(harenad)(home)

    def configure(config):
        del config["plugins"]["container"]  # no sandbox is needed, and another daemon of these tests has its names
        config["plugins"]["e2b"]["config"].update(domain=DOMAIN, tls={"cert": str(folder / "e2b.pem"), "key": str(folder / "e2b.key")})

    made.edit_config(configure)
    try:
        made.start()
        made.ca = str(folder / "ca.pem")
        yield made
    finally:
        made.stop()
        shutil.rmtree(home, ignore_errors=True)


def ask(daemon, name, path):
    """As a client does that resolves `name` to this machine: its certificate is checked against that name."""
    port = int(daemon.about["frontends"]["e2b"][0].rpartition(":")[2])
    context = ssl.create_default_context(cafile=daemon.ca)
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20)
    plain = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sock = context.wrap_socket(plain, server_hostname=name)
    connection.request("GET", path, headers={"Host": name})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("port", [3000, 49983])
def test_a_name_of_a_sandbox(daemon, port):
    sandbox = "0" * 20
    status, body = ask(daemon, f"{port}-{sandbox}.{DOMAIN}", "/health")
    assert (status, body) == (502, {"sandboxId": sandbox, "message": "The sandbox was not found", "code": 502})


def test_the_control_api(daemon):
    status, body = ask(daemon, DOMAIN, "/v2/sandboxes")
    assert status == 401 and body["code"] == 401


def test_a_name_outside_the_certificate(daemon):
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(daemon, "3000-x.elsewhere.org", "/health")
