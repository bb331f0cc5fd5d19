"""Messages about a model's wrong name, key, address or certificate, and about a server that dies halfway."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import pytest
from chat_server import ChatServer, refuses, resets
from conftest import Project

TALK = """
def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    assert ltm.ask("What is my cat called?")
"""


@pytest.fixture(autouse=True)
def talk(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    project.file(TALK)
    monkeypatch.setenv("ANY_KEY", "k-123456")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")]),
    )
    began = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)
    signed = (
        x509.CertificateBuilder()
        .issuer_name(name)
        .subject_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .not_valid_before(began)
        .not_valid_after(began + dt.timedelta(days=36_500))
        .sign(key, hashes.SHA256())
    )
    kinds = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = tmp_path / "certificate.pem"
    path.write_bytes(
        key.private_bytes(*kinds) + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def secure_server(chat_server: ChatServer, certificate: Path) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    plain = chat_server._http.socket
    chat_server._http.socket = context.wrap_socket(plain, server_side=True)
    return chat_server.url.replace("http:", "https:")


def said_of(project: Project, spec: str) -> str:
    run = project.ltm("--ltm-no-probe", "--ltm-retries=1", agent=f"bot={spec}")
    assert run.ret == 75
    return " ".join(run.stdout.str().split())


def test_a_model_that_the_server_does_not_know(
    project: Project, chat_server: ChatServer
) -> None:
    chat_server.default = refuses(404, message="The model `gpt-9` does not exist")
    said = said_of(project, f"openai:gpt-9@{chat_server.url}")
    assert (
        f"{chat_server.url} answered 404: The model `gpt-9` does not exist. {chat_server.url}/models lists the"
        in said
    )
    # no retries
    assert len({request.last for request in chat_server.requests}) == len(
        chat_server.requests
    )


def test_a_key_that_is_refused(project: Project, chat_server: ChatServer) -> None:
    chat_server.key = "k-other"
    said = said_of(project, f"openai:m@{chat_server.url}?key_env=ANY_KEY")
    assert (
        "answered 401: Incorrect API key provided. The key is that of the environment variable ANY_KEY"
        in said
    )
    assert "k-123456" not in said
    # no retries
    assert len({request.last for request in chat_server.requests}) == len(
        chat_server.requests
    )


def test_an_address_where_no_server_runs(project: Project) -> None:
    said = said_of(project, "openai:m@http://127.0.0.1:9/v1")
    assert (
        "Connection refused. Does the server run, and at this port? (tried 2 times"
        in said
    )


def test_a_host_that_does_not_exist(project: Project) -> None:
    said = said_of(project, "openai:m@http://nowhere.invalid/v1")
    assert "http://nowhere.invalid/v1 cannot be reached" in said
    assert "Is the host's name right, and is there a network?" in said


def test_a_certificate_that_nobody_trusts_and_how_to(
    project: Project,
    secure_server: str,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = said_of(project, f"openai:m@{secure_server}")
    assert "self-signed certificate" in said
    assert "If you trust it, name the file of its authority in SSL_CERT_FILE" in said
    assert "tried 2 times" not in said
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    project.ltm(
        "--ltm-no-probe", agent=f"bot=openai:m@{secure_server}"
    ).assert_outcomes(passed=1)


def test_a_server_that_dies_in_the_middle_takes_no_score_along(
    project: Project, chat_server: ChatServer
) -> None:
    chat_server.next("Noted.", *[resets()] * 2)
    said = said_of(project, f"openai:m@{chat_server.url}")
    assert "cannot be reached, or broke off:" in said
    assert "(tried 2 times" in said
    assert (
        "unmeasurable (exit status 75): 1 of 1 example has no score because agent"
        in said
    )
