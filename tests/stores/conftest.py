"""An object store of our own, on this machine, with the settings of a user in the environment."""

import logging
from collections.abc import Iterator
from itertools import count

import boto3
import pytest
from moto.server import ThreadedMotoServer

from pipeline.stores import remote

_numbers = count(1)


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def _environment(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "user",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    remote._store.cache_clear()
    yield
    remote._store.cache_clear()


@pytest.fixture
def bucket(endpoint: str) -> str:
    """The URL of a new bucket."""
    name = f"bucket-{next(_numbers)}"
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket=name)
    return f"s3://{name}"
