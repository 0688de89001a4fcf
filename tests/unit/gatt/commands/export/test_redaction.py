"""Absolute local paths go, all else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatt.commands.export.redaction import private_in, public_text, public_value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("output_dir: /home/me/runs/demo", "output_dir: demo"),
        ("--model=/mnt/disk 1", "--model=disk 1"),
        ("adapter at `/data/a/b.safetensors`, good", "adapter at `b.safetensors`, good"),
        ("in ~/models/llama/ and /tmp/x.", "in llama and x."),
        ("'/Users/me/a' \"/root/b\"", "'a' \"b\""),
        ("--model=/projects/p123/jane/llama", "--model=llama"),
        ("/cluster/work/jane/m\n(/cluster/a)", "m\n(a)"),
        ("['/cluster/a/', /p1/b,/p2/c/d], &quot;/p/e&quot;", "['a', b,d], &quot;e&quot;"),
        ("<td>/cluster/work/m</td>|/x/y|", "<td>m</td>|y|"),
        ("at file:///home/jane/x.jsonl, file://host/a/b", "at x.jsonl, b"),
        ("urls: [http://node1:8000/v1]", "urls: [http://server/v1]"),
        ("http://10.0.0.7:8000/v1, https://gpu.lab.internal", "http://server/v1, https://server"),
    ],
)
def test_a_path_keeps_its_last_part(text: str, expected: str) -> None:
    assert public_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/home/me/page",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "runs/demo/train/adapter",
        "../data/file",
        "either/or, 1/2, about ~ 5 GB, ~1 h",
        "</div><br/>",
        "arXiv:2307.09288",
        "/data and /home alone",
        "https://example.org/?at=/a/b#/c/d and https://example.org:80/a/b",
        "hf://datasets/org/name, s3://bucket/a/b",
        "on 1/2/2026 and/or w/o image/png; text/html, application/json",
        '<td class="a"><b>km/h</b></td><br /><path d="M0 0"/></svg>',
        '<img src="data:image/jpeg;base64,/9j/4AAQ/SkZJRg==">',
        "// a comment, //cdn.example.org/x.js",
        "/s/ or /z/",
    ],
)
def test_what_is_no_local_path_stays(text: str) -> None:
    assert public_text(text) == text
    assert public_value(text) == text


def test_folders_that_are_named_go_whatever_they_begin_with() -> None:
    text = "at /weird/place/runs/a.json, +/weird/placement/x and /weird/place"
    found = public_text(text, Path("/weird/place"), Path("relative"), Path("/"))
    assert found == "at a.json, +/weird/placement/x and place"


def test_values_are_gone_through_to_the_bottom() -> None:
    value = {"a": ["/any/where/x.json", 3, None, True], "b": ("say /home/me/y",), "c": {"d": "/z"}}
    assert public_value(value) == {"a": ["x.json", 3, None, True], "b": ["say y"], "c": {"d": "z"}}
    assert public_value("/ is a slash") == "/ is a slash"


def test_what_a_run_is_configured_with_goes_from_all_its_texts() -> None:
    config = {
        "engine": {"model": "/cluster/jane/m", "server": {"urls": ["http://gpu01.hpc.uni-x.de:8000/v1"]}},
        "judges": [{"server": {"urls": ("https://me@llm.uni-x.de/v1", "http://node1/v1", "http://[")}}],
        "text": "/or this and that",
        "tag": "/b",
        "page": "https://uni-x.de/about",
        "seed": 3,
    }  # fmt: skip
    found = list(private_in(config))
    text = (
        "a+/cluster/jane/m/x </b>, --urls=[http://gpu01.hpc.uni-x.de:8000/v1] gpu01.hpc.uni-x.de is slow, "
        "https://llm.uni-x.de/v1, https://uni-x.de/about, gpu01.hpc.uni-x.design"
    )
    assert public_text(text, *found) == (
        "a+x </b>, --urls=[http://server/v1] server is slow, "
        "https://server/v1, https://uni-x.de/about, gpu01.hpc.uni-x.design"
    )
    assert "node1" not in found
    assert public_value(config, *found)["engine"] == {
        "model": "m",
        "server": {"urls": ["http://server/v1"]},
    }
