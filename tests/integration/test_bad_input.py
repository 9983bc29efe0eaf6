"""What a caller may get wrong: a typed error that names it, and nothing half-made stays."""

import httpx
import pytest


@pytest.fixture(scope="module")
def http(harenad):
    with httpx.Client(base_url=harenad.url + "/v1", headers={"Authorization": f"Bearer {harenad.token}"}, timeout=60) as one:
        yield one


def create(http, text):
    return http.post("/backends/container/sandboxes", content=text, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("text, status, words", [
    ("x", 400, "isn't JSON"),
    ("[]", 400, "must be a JSON object"),
    ('{"image": "root/tiny:v1", "image": "root/other:v1"}', 400, "the key image is there twice"),
    ('{"image": "root/tiny:v1", "params": {"cpu": 1, "cpu": 2}}', 400, "the key params.cpu is there twice"),
    ('{"image": "root/tiny:v1", "parameters": {}}', 400, "did you mean 'params'"),
    ('{"image": "root/tniy:v1"}', 404, "did you mean 'root/tiny:v1'"),
    ('{"image": "root/tiny:v1", "idle_ttl_s": -1}', 400, "idle_ttl_s' is -1"),
    ('{"image": "root/tiny:v1", "lifetime_s": 1e30}', 400, "lifetime_s' is 1e+30"),
    ('{"image": "root/tiny:v1", "project": "root/none"}', 404, "root/none"),
    ('{"image": "root/tiny:v1", "params": {"cpu": 0}}', 400, "params.cpu is 0"),
    ('{"image": "root/tiny:v1", "params": {"cpu": "many"}}', 400, "params.cpu is 'many'"),
    ('{"image": "root/tiny:v1", "params": {"cpu": 1000000}}', 409, "no node can take it"),
    ('{"image": "root/tiny:v1", "params": {"memory": "0"}}', 400, "parameter 'memory' is"),
    ('{"image": "root/tiny:v1", "params": {"memory": -1}}', 400, "parameter 'memory' is -1"),
    ('{"image": "root/tiny:v1", "params": {"memory": "lots"}}', 400, "parameter 'memory' is"),
    ('{"image": "root/tiny:v1", "params": {"memry_bytes": 1}}', 400, "did you mean 'memory_bytes'"),
    ('{"image": "root/tiny:v1", "params": {"memory_bytes": 1e300}}', 400, "64 bits"),
])
def test_a_create_that_is_wrong(http, image, text, status, words):
    before = http.get("/sandboxes").json()["sandboxes"]
    answer = create(http, text)
    assert (answer.status_code, words in answer.json()["error"]["message"]) == (status, True), answer.text
    assert answer.json()["error"]["retry"] == "never"
    assert http.get("/sandboxes").json()["sandboxes"] == before


def test_a_backend_that_is_not_there(http, image):
    answer = http.post("/backends/contaner/sandboxes", json={"image": image})
    assert answer.status_code == 404 and "did you mean 'container'" in answer.json()["error"]["message"]


def test_an_import_from_nowhere_has_a_status(http):
    answer = http.post("/images/import", json={"reference": "root/no:v1", "source": {"folder": "/not/there"}})
    assert answer.status_code == 404 and "/not/there" in answer.json()["error"]["message"], answer.text


def test_progress_of_an_import_reaches_the_caller(client, image, tmp_path):
    """The server's lines and what the SDK reads in them are the same words."""
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    seen = []
    client.images.import_image("root/progress:v1", folder=str(tmp_path), kind="workspace", progress=seen.append)
    client.images.delete("root/progress:v1")
    assert {"unpack", "store"} <= {step.what for step in seen}, seen
