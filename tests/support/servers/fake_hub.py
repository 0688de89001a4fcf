"""A hub in the process: makes repositories and keeps what is committed, as huggingface_hub sends it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from huggingface_hub import set_client_factory
from huggingface_hub.utils._http import default_client_factory


@dataclass
class Repo:
    """One repository."""

    is_private: bool
    made_with: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)


@dataclass
class FakeHub:
    """The repositories of the hub, and the requests to it."""

    url: str = "http://hub.test"
    repos: dict[str, Repo] = field(default_factory=dict)
    """By kind and id, as `models/owner/name`."""
    tokens: set[str] = field(default_factory=set)
    refuses: int = 0
    """Status of every answer, if not 0."""

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Return status and JSON of an answer."""
        if self.refuses:
            return self.refuses, {"error": "not for you"}
        words = path.strip("/").split("/")[1:]
        if words == ["repos", "create"]:
            return self._create(json.loads(body))
        if words == ["validate-yaml"]:
            return 200, {"errors": [], "warnings": []}
        name, rest = "/".join(words[:3]), words[3:]
        repo = self.repos.get(name)
        if repo is None:
            return 404, {"error": f"no repository {name}"}
        if rest[:1] == ["tree"]:
            blob = {"type": "file", "oid": "0" * 40}
            return 200, [{**blob, "path": f, "size": len(d)} for f, d in repo.files.items()]
        if method == "GET":
            files = [{"rfilename": file} for file in sorted(repo.files)]
            return 200, {"id": "/".join(words[1:3]), "private": repo.is_private, "siblings": files}
        if rest[:1] == ["preupload"]:
            asked = json.loads(body)["files"]
            modes = [{"path": f["path"], "uploadMode": "regular"} for f in asked]
            return 200, {"files": [m | {"shouldIgnore": False, "oid": None} for m in modes]}
        return self._commit(repo, name, body)

    def _create(self, asked: dict[str, Any]) -> tuple[int, Any]:
        owner = asked.get("organization") or "me"
        name = f"{asked.get('type') or 'model'}s/{owner}/{asked['name']}"
        known = name in self.repos
        if not known:
            is_private = bool(asked.get("private") or asked.get("visibility") == "private")
            self.repos[name] = Repo(is_private, asked)
        url = f"{self.url}/{name.removeprefix('models/')}"
        return (409 if known else 200), {"url": url, "error": "exists" if known else None}

    def _commit(self, repo: Repo, name: str, body: bytes) -> tuple[int, Any]:
        for line in body.splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "header":
                repo.messages.append(value["summary"])
            elif item["key"] == "file":
                repo.files[value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "deletedFile":
                del repo.files[value["path"]]
        url = f"{self.url}/{name.removeprefix('models/')}/commit/{'1' * 40}"
        return 200, {"commitUrl": url, "commitOid": "1" * 40, "pullRequestUrl": None}


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """Let huggingface_hub send its requests to a hub while the block runs; another host refuses them."""
    hub = FakeHub()

    def handle(request: httpx2.Request) -> httpx2.Response:
        if f"{request.url.scheme}://{request.url.host}" != hub.url:
            raise httpx2.ConnectError("connection refused", request=request)
        hub.tokens.add(request.headers.get("authorization", ""))
        status, value = hub.answer(request.method, request.url.path, request.read())
        return httpx2.Response(status, json=value)

    set_client_factory(lambda: httpx2.Client(transport=httpx2.MockTransport(handle)))
    try:
        yield hub
    finally:
        set_client_factory(default_client_factory)
