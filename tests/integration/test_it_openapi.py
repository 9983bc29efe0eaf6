"""The OpenAPI document: valid, whole, and true to what the server answers."""

import re

import httpx
import pytest


@pytest.fixture(scope="module")
def document(harenad):
    answer = httpx.get(harenad.url + "/v1/openapi.json", headers={"Authorization": f"Bearer {harenad.token}"})
    assert answer.status_code == 200
    return answer.json()


def test_it_is_valid_openapi_3_1(document):
    validator = pytest.importorskip(
        "openapi_spec_validator", reason="the validator comes from PyPI, which can't be reached here")
    assert document["openapi"].startswith("3.1")
    validator.validate(document)


def test_every_backend_has_its_own_request(document):
    schemas = document["components"]["schemas"]
    assert "cpu" in schemas["CreateContainerSandbox"]["properties"]["params"]["properties"]


def test_every_reference_leads_somewhere(document):
    for name in set(re.findall(r'"#/components/schemas/(\w+)"', str(document).replace("'", '"'))):
        assert name in document["components"]["schemas"], name


def test_every_documented_path_is_there(document, harenad):
    """No path of the document answers «no such route»."""
    headers = {"Authorization": f"Bearer {harenad.token}"}
    for path, operations in document["paths"].items():
        concrete = re.sub(r"\{id\}", "0" * 20, path)
        concrete = re.sub(r"\{port\}", "1", concrete)
        concrete = re.sub(r"\{\w+\}", "x", concrete)
        for method in operations:
            if method in ("get", "head"):
                answer = httpx.request(method, harenad.url + concrete, headers=headers)
                assert answer.status_code != 405, (method, path)
                assert "no such path" not in answer.text, (method, path)


def operations(document):
    return [(path, method, operation) for path, methods in document["paths"].items() for method, operation in methods.items()]


def test_every_parameter_has_a_type_and_a_meaning(document):
    for path, method, operation in operations(document):
        for parameter in operation.get("parameters", []):
            where = (method, path, parameter["name"])
            assert parameter.get("description"), where
            assert {"type", "enum"} & set(parameter["schema"]), where
            if parameter["schema"].get("type") == "integer":
                assert "minimum" in parameter["schema"], where


def test_every_operation_says_what_it_answers_and_how_it_fails(document):
    """A JSON answer has a schema, a 404 is told where the path names something; only WebSockets and raw bytes have none."""
    for path, method, operation in operations(document):
        answers = operation["responses"]
        assert {"400", "401", "403", "503", "default"} <= set(answers), (method, path)
        success = next(answers[status] for status in answers if status[0] in "12")
        for media, content in success.get("content", {}).items():
            assert "schema" in content or media in ("application/octet-stream", "application/x-tar"), (method, path, media)
        if "{id}" in path:
            assert "404" in answers, (method, path)


@pytest.mark.parametrize("path", ["backends", "doctor", "events", "images", "nodes", "plugins", "projects", "sandboxes", "snapshots",
                                  "tokens", "version", "whoami", "images/{image}", "sandboxes/{id}/usage", "sandboxes/{id}/commands",
                                  "sandboxes/{id}/files/stat?path=/", "sandboxes/{id}/files/list?path=/", "sandboxes/{id}/files/xattrs?path=/"])
def test_answers_are_as_their_schemas_say(document, sandbox, harenad, path):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema comes with the OpenAPI validator")
    headers = {"Authorization": f"Bearer {harenad.token}"}
    image = httpx.get(harenad.url + "/v1/images", headers=headers).json()["images"][0]["reference"].replace("/", "%2F")
    answer = httpx.get(harenad.url + "/v1/" + path.format(id=sandbox.id, image=image), headers=headers, timeout=30)
    assert answer.status_code == 200, answer.text
    template = "/v1/" + path.partition("?")[0].replace("{image}", "{reference}")
    content = document["paths"][template]["get"]["responses"]["200"]["content"]["application/json"]
    jsonschema.validate(answer.json(), {**content["schema"], "components": document["components"]})


def test_a_query_parameter_that_nobody_knows_is_refused_everywhere(document, sandbox, harenad):
    """An ignored option would be taken for a kept one; what stands behind /ports is the service's."""
    headers = {"Authorization": f"Bearer {harenad.token}"}
    for path, method, operation in operations(document):
        if "/ports/" in path:
            continue
        concrete = re.sub(r"\{\w+\}", "x", path.replace("{id}", sandbox.id))
        answer = httpx.request(method, harenad.url + concrete + "?zzzzzzzz=1", headers=headers, json={} if method in ("post", "put", "patch") else None)
        assert answer.status_code == 400 and "'zzzzzzzz'" in answer.text, (method, path, answer.status_code, answer.text)


def test_a_sandbox_is_as_the_schema_says(document, sandbox, harenad):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema comes with the OpenAPI validator")
    answer = httpx.get(harenad.url + f"/v1/sandboxes/{sandbox.id}", headers={"Authorization": f"Bearer {harenad.token}"})
    schema = {"$ref": "#/components/schemas/Sandbox", "components": document["components"]}
    jsonschema.validate(answer.json(), schema)


def test_commands_are_described_as_they_are(document, sandbox, harenad):
    """Every member of a start in the document is one that the server knows, and the other way round."""
    schema = document["components"]["schemas"]["StartCommand"]["properties"]
    headers = {"Authorization": f"Bearer {harenad.token}"}
    url = harenad.url + f"/v1/sandboxes/{sandbox.id}/commands"
    for name in schema:
        answer = httpx.post(url, headers=headers, json={name: None, "no_such_member": 1})
        assert "'no_such_member'" in answer.json()["error"]["message"], (name, answer.text)
    known = httpx.post(url, headers=headers, json={"zzzzzzzzzzzz": 1}).json()["error"]["message"].partition("known: ")[2]
    assert {word.strip(" '") for word in known.split(",")} == set(schema), known
    commands = document["paths"]["/v1/sandboxes/{id}/commands/{cid}/stdin"]["post"]
    assert {"offset", "eof"} <= {parameter["name"] for parameter in commands["parameters"]}
    assert "requestBody" in document["paths"]["/v1/sandboxes/{id}/commands/{cid}/signal"]["post"]


def test_without_a_token_nothing_is_told(harenad):
    for path in ("/v1/openapi.json", "/v1/sandboxes", "/v1/version"):
        answer = httpx.get(harenad.url + path)
        assert answer.status_code == 401 and answer.json()["error"]["code"] == "unauthenticated"
        assert answer.headers["www-authenticate"].lower().startswith("bearer")


@pytest.mark.parametrize("verb", ["console", "vnc"])
def test_a_container_has_no_console_and_says_so(document, sandbox, harenad, verb):
    described = document["paths"][f"/v1/sandboxes/{{id}}/{verb}"]["get"]
    assert "binary messages" in described["description"] and {"101", "501"} <= set(described["responses"]), described
    answer = httpx.get(harenad.url + f"/v1/sandboxes/{sandbox.id}/{verb}", headers={"Authorization": f"Bearer {harenad.token}"})
    assert answer.status_code == 501, answer.text
    error = answer.json()["error"]
    assert error["code"] == "unimplemented" and "container" in error["message"] and verb in error["message"], error
