"""Absolute local paths go, all else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatt.public_text import public_text, public_value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("output_dir: /home/me/runs/demo", "output_dir: demo"),
        ("--model=/mnt/disk 1", "--model=disk 1"),
        ("adapter at `/data/a/b.safetensors`, good", "adapter at `b.safetensors`, good"),
        ("in ~/models/llama/ and /tmp/x.", "in llama and x."),
        (r"C:\Users\me\runs\demo", "demo"),
        ("'/Users/me/a' \"/root/b\"", "'a' \"b\""),
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
    ],
)
def test_what_is_no_local_path_stays(text: str) -> None:
    assert public_text(text) == text
    assert public_value(text) == text


def test_folders_that_are_named_go_whatever_they_begin_with() -> None:
    text = "at /weird/place/runs/a.json, /weird/placement/x and /weird/place"
    found = public_text(text, Path("/weird/place"), Path("relative"), Path("/"))
    assert found == "at a.json, /weird/placement/x and place"


def test_values_are_gone_through_to_the_bottom() -> None:
    value = {"a": ["/any/where/x.json", 3, None, True], "b": ("say /home/me/y",), "c": {"d": "/z"}}
    assert public_value(value) == {"a": ["x.json", 3, None, True], "b": ["say y"], "c": {"d": "z"}}
    assert public_value("/ is a slash") == "/ is a slash"
