"""What reaches a hub: huggingface_hub itself against a hub in the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatt.cli import main
from gatt.commands.push.command import PushConfig
from gatt.commands.push.send import push
from gatt.errors import ConfigError, HubError
from tests.support.models.trained import save_adapter
from tests.support.runs.fake_commands import stderr_line
from tests.support.servers.fake_hub import FakeHub, Repo, fake_hub

TOKEN = "hf_0123456789abcdefghij"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    # The environment of the tests may forbid the library to use the network.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with fake_hub() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        yield served


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_adapter(tmp_path_factory.mktemp("made") / "adapter", "org/base")


def test_an_adapter_becomes_a_private_repository_in_one_commit(hub, adapter, tmp_path) -> None:
    # What an earlier, larger push left there goes.
    hub.repos["models/me/mine"] = Repo(True, {}, {"old.safetensors": b"old", "notes.md": b"mine"})
    said = push(PushConfig(what="adapter", folder=adapter, repo_id="me/mine"))
    assert said.startswith(f"{hub.url}/me/mine: adapter as a model repository, 4 files, ")
    repo = hub.repos["models/me/mine"]
    assert repo.messages == ["Upload adapter with gatt push"]
    push(PushConfig(what="adapter", folder=adapter, repo_id="me/new"))
    assert hub.repos["models/me/new"].is_private
    # Locally it is the same.
    push(PushConfig(what="adapter", folder=adapter, output_dir=tmp_path / "local"))
    local = {p.name: p.read_bytes() for p in (tmp_path / "local").iterdir()}
    assert repo.files == {**local, "notes.md": b"mine"}
    assert hub.tokens == {f"Bearer {TOKEN}"}


def test_a_public_repository_is_not_taken_for_a_private_one(hub: FakeHub, adapter: Path) -> None:
    hub.repos["models/me/open"] = Repo(False, {})
    with pytest.raises(HubError, match="me/open: exists already and is public"):
        push(PushConfig(what="adapter", folder=adapter, repo_id="me/open"))
    assert hub.repos["models/me/open"].files == {}


def test_a_hub_that_refuses_or_is_not_there(hub, adapter, capsys, monkeypatch) -> None:
    hub.refuses = 403
    words = ["push", "--what=adapter", f"--folder={adapter}", "--repo_id=me/mine"]
    assert main(words) == 2
    line = stderr_line(capsys)
    assert line.startswith("gatt: me/mine: ")
    assert "403" in line
    assert TOKEN not in line
    assert main([*words[:3], "--repo_id=../mine"]) == 2
    assert "'../mine'" in stderr_line(capsys)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert main(words) == 2
    assert "refused" in stderr_line(capsys)


def test_no_token_stops_it_before_the_work(adapter, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HF_TOKEN", " ")
    # A token that is stored in a file is not read.
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    (tmp_path / "token").write_text(TOKEN, encoding="utf-8")
    with pytest.raises(ConfigError, match="HF_TOKEN"):
        push(PushConfig(what="adapter", folder=adapter, repo_id="me/mine"))
