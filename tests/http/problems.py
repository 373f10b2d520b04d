"""What every refusal must look like."""

TYPES = "urn:cellpost:problem:"


def check_problem(response, status, word=None, field=None):
    """Checks a problem document (RFC 9457), and that it tells nothing of the inside. The document."""
    assert response.status_code == status, f"{response.status_code}: {response.text[:500]}"
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == status
    assert problem["type"].startswith(TYPES)
    assert problem["title"] and problem["detail"] and problem["request"]
    text = response.text
    for secret in ("/tmp/", "/home/", "/root/", "Traceback", "errno", ".c:", "cellpost.db"):
        assert secret not in text, text
    if word is not None:
        assert word in problem["detail"], problem
    if field is not None:
        assert problem["field"] == field, problem
    return problem


def check_no_cors(response):
    found = [name for name in response.headers if name.lower().startswith("access-control-")]
    assert found == []
