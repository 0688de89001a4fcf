"""Joins the parts of a check in results/engines/NAME.json, writes the page of all servers; see `parts.sh`."""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gatt.runs.atomic_file import atomic_write_json, atomic_write_text

FOLDER: Final = Path("results/engines")
PARTS: Final = ("replies", "together", "synth", "chat", "cache", "speed", "dialogues")
NAMES: Final = {"vllm": "vLLM", "llama_cpp": "llama.cpp"}


def main() -> None:
    """Write the figures of a server and the page of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--run", type=Path, required=True, help="folder of the check")
    parser.add_argument("--server", required=True, help="its versions")
    args = parser.parse_args()
    paths = {part: args.run / f"{part}.json" for part in PARTS}
    parts = {part: _read(path) for part, path in paths.items() if path.exists()}
    if not parts:
        raise SystemExit("publish: no part was measured yet")
    figures = {"server": args.server, "seed": 0, "parts": parts}
    atomic_write_json(FOLDER / f"{args.name}.json", figures)
    pages = {name: FOLDER / f"{name}.json" for name in NAMES}
    servers = [_shown(name, _read(path)) for name, path in pages.items() if path.exists()]
    atomic_write_text(FOLDER / "README.md", _page(servers))
    print(f"{FOLDER / 'README.md'}: {', '.join(parts)} of {NAMES[args.name]}")


def _shown(name: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Return what the page says of a server."""
    run = next(iter(figures["parts"].values()))["run"]
    made_at: dict[str, list[str]] = {}
    for part, one in figures["parts"].items():
        made_at.setdefault(_commit(one["run"]), []).append(part)
    found = {part: figures["parts"].get(part, {}).get("found") for part in PARTS}
    return found | {
        "title": NAMES[name],
        "script": f"scripts/research/engines/{name}_check.sh",
        "commits": "; ".join(f"{commit} ({', '.join(parts)})" for commit, parts in made_at.items()),
        "run": run,
        "server": figures["server"],
        "missing": [part for part in PARTS if not found[part]],
    }


def _commit(run: dict[str, Any]) -> str:
    commit = run["commit"] or {}
    state = "" if commit.get("is_clean", True) else " with uncommitted changes"
    return (commit.get("id") or "unknown")[:12] + state


def _page(servers: list[dict[str, Any]]) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "line": lambda text: " ".join(text.split()) or "(nothing)",
        "median": statistics.median,
        "percent": lambda share: f"{100 * share:.0f} %",
    }
    return environment.get_template("page.md.j2").render(servers=servers)


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
