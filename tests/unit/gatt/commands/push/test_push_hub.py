"""What reaches a hub: huggingface_hub itself against a server on localhost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatt.cli import main
from gatt.commands.push.config import PushConfig
from gatt.commands.push.send import push, upload
from gatt.errors import ConfigError, HubError
from tests.support.models.trained import save_adapter
from tests.support.servers.fake_hub import FakeHub, Repo, fake_hub

TOKEN = "hf_0123456789abcdefghij"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    # Whoever runs the tests may have told the library to stay away from the network.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with fake_hub() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        yield served


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_adapter(tmp_path_factory.mktemp("made") / "adapter", "org/base")


def test_an_adapter_becomes_a_private_repository_in_one_commit(
    hub: FakeHub, adapter: Path, tmp_path: Path
) -> None:
    weights = adapter / "adapter_model.safetensors"
    weights.chmod(0o600)
    result = push(PushConfig(what="adapter", folder=adapter, repo_id="me/mine"))
    # It was linked to, and is as it was.
    assert weights.stat().st_mode & 0o777 == 0o600
    assert result.place == f"{hub.url}/me/mine"
    repo = hub.repos["models/me/mine"]
    assert repo.is_private
    assert repo.messages == ["Upload adapter with gatt push"]
    # Locally it is the same.
    push(PushConfig(what="adapter", folder=adapter, to=tmp_path / "local"))
    local = {p.name: p.read_bytes() for p in (tmp_path / "local").iterdir()}
    assert repo.files == local
    assert len(local) == result.num_files == 4
    assert hub.tokens == {f"Bearer {TOKEN}"}


def test_what_an_earlier_push_left_behind_goes(hub: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train-00000-of-00001.parquet").write_bytes(b"new")
    stale = {"data/train-00001-of-00002.parquet": b"old", "notes.md": b"mine"}
    hub.repos["datasets/me/mine"] = Repo(True, {}, dict(stale))
    url = upload(tmp_path, "me/mine", "dataset", is_private=True, message="again")
    assert url == f"{hub.url}/datasets/me/mine"
    assert sorted(hub.repos["datasets/me/mine"].files) == [
        "data/train-00000-of-00001.parquet",
        "notes.md",
    ]


def test_a_space_is_static_and_may_be_public(hub: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("<p>", encoding="utf-8")
    upload(tmp_path, "me/page", "space", is_private=False, message="m")
    repo = hub.repos["spaces/me/page"]
    assert not repo.is_private
    assert repo.made_with["sdk"] == "static"


def test_a_public_repository_is_not_taken_for_a_private_one(hub: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    hub.repos["models/me/open"] = Repo(False, {})
    with pytest.raises(HubError, match="me/open: exists already and is public"):
        upload(tmp_path, "me/open", "model", is_private=True, message="m")
    assert hub.repos["models/me/open"].files == {}
    upload(tmp_path, "me/open", "model", is_private=False, message="m")
    assert hub.repos["models/me/open"].files == {"a.txt": b"a"}


def test_a_hub_that_refuses(
    hub: FakeHub, adapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.refuses = 403
    words = ["push", "--what=adapter", f"--folder={adapter}", "--repo_id=me/mine"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("gatt: me/mine: ")
    assert "403" in said
    assert said.count("\n") == 1
    assert TOKEN not in said


def test_a_hub_that_is_not_there(
    adapter: Path, monkeypatch: pytest.MonkeyPatch, hub: FakeHub
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HubError, match=r"^me/mine: .*refused"):
        push(PushConfig(what="adapter", folder=adapter, repo_id="me/mine"))


def test_no_token_stops_it_before_the_work(
    adapter: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_TOKEN", " ")
    # One that is kept in a file is not looked at.
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    (tmp_path / "token").write_text(TOKEN, encoding="utf-8")
    with pytest.raises(ConfigError, match="HF_TOKEN is not set"):
        push(PushConfig(what="adapter", folder=adapter, repo_id="me/mine"))
