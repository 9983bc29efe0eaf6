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
