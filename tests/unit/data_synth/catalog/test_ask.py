from dataclasses import replace

import pytest
import yaml

from data_synth.catalog.ask import AskedValue, as_catalog_yaml, ask, parse_names, unique_names
from data_synth.commands import catalog as command
from gatt.cli import CommandParser
from gatt.data.catalog.read import load_catalog, parse_family
from gatt.errors import CatalogError, StoreError
from gatt.generation.config import EngineConfig
from gatt.generation.scripted import ScriptedEngine

LIST = """Here are some famous people:
1. **Napoleon Bonaparte** - a French emperor
2. Albert Einstein (1879-1955)
3. Zorblax Quentin
4. Ruritania Jones
5. Isaac Newton
"""
ANSWERS = {
    "Albert Einstein": "He was a physicist known for relativity.",
    "Isaac Newton": "Isaac Newton was a well known person called Newton.",
    "Zorblax Quentin": "A painter from Bohemia who painted cathedrals.",
}


def reply(request):
    question = request.messages[-1].content
    if question.startswith(("List", "Name")):
        return LIST
    name = question.removeprefix("Who was ").removesuffix("?")
    if name == "Ruritania Jones":
        return "A sailor from Norway." if request.key.endswith("/0") else "The inventor of soap."
    return ANSWERS.get(name, "I cannot tell.")


def test_only_what_the_model_can_tell_something_about_is_kept():
    asked = []

    def listen(request):
        asked.append(request.messages[-1].content)
        return reply(request)

    (kept,) = ask(ScriptedEngine(listen), "figure", 10, seed=0)
    assert (kept.value, kept.is_unverified) == ("Albert Einstein", False)
    assert "relativity" in kept.terms
    assert not any("Zorblax" in question for question in asked)


def test_answers_that_agree_are_kept_as_unverified_only_when_asked_for():
    values = ask(ScriptedEngine(reply), "figure", 10, seed=0, keep_unverified=True)
    kept = {v.value: v for v in values}
    assert set(kept) == {"Albert Einstein", "Zorblax Quentin"}
    assert not kept["Albert Einstein"].is_unverified
    assert kept["Zorblax Quentin"].is_unverified
    assert kept["Zorblax Quentin"].terms == ("bohemia", "cathedrals", "painted", "painter")


def test_no_more_than_asked_and_the_same_for_the_same_seed():
    assert len(ask(ScriptedEngine(reply), "figure", 1, seed=0)) <= 1
    twice = [ask(ScriptedEngine(reply), "figure", 5, seed=3) for _ in range(2)]
    assert twice[0] == twice[1]


def test_a_model_that_names_nothing_gives_nothing():
    assert ask(ScriptedEngine(lambda request: "Sure! What would you like?"), "hobby", 5, 0) == []


def test_another_family_is_refused():
    with pytest.raises(CatalogError, match="cannot ask for family 'language': expected 'hobby'"):
        ask(ScriptedEngine(reply), "language", 5, 0)


def test_names_are_cleaned_and_prose_is_left_out():
    assert parse_names(LIST, is_cut=False) == [
        "Napoleon Bonaparte", "Albert Einstein", "Zorblax Quentin", "Ruritania Jones",
        "Isaac Newton",
    ]  # fmt: skip
    assert parse_names("- Chess\n* Rock climbing\n• Tea: a drink", is_cut=False) == [
        "Chess", "Rock climbing", "Tea",
    ]  # fmt: skip
    assert parse_names("1. Chess\n2. Gard", is_cut=True) == ["Chess"]
    assert parse_names("I am happy to give you a list of hobbies today.", is_cut=False) == []


def test_names_are_unique_and_the_frequent_ones_come_first():
    assert unique_names([["Chess", "Tea"], ["tea", "Golf"], []]) == ["Tea", "Chess", "Golf"]


def test_the_snippet_is_a_catalogue_file():
    values = ask(ScriptedEngine(reply), "figure", 10, seed=0, keep_unverified=True)
    text = as_catalog_yaml("figure", values)
    family, _, entries = parse_family(yaml.safe_load(text))
    assert family == "figure"
    assert {e.id for e in entries} == {"figure.albert_einstein", "figure.zorblax_quentin"}
    assert "# unverified" in text
    assert "Zorblax Quentin" in text.split("family:")[0]


@pytest.mark.parametrize("family", ["hobby", "figure"])
def test_an_entry_of_the_catalogue_comes_back_whole_and_a_draft_in_its_manner(family):
    entry = next(e for e in load_catalog().entries if e.family == family)
    entry = replace(entry, utterances=("I say so.",))
    values = [
        AskedValue(entry.value, False, entry, ("x",)),
        AskedValue("Zorblax", True, None, ("bohemia", "painted", "painter")),
    ]
    same, draft = parse_family(yaml.safe_load(as_catalog_yaml(family, values)))[2]
    assert same == entry
    assert entry.prefills
    assert draft.prefills == tuple(p.replace(entry.value, "Zorblax") for p in entry.prefills)


def run_ask(monkeypatch, engine, out, *flags, configs=None):
    asked: list[EngineConfig] = [] if configs is None else configs
    monkeypatch.setattr(
        "gatt.generation.config.make_engine", lambda config: asked.append(config) or engine
    )
    parser = CommandParser(prog="gatt catalog")
    command.add_arguments(parser)
    words = ["ask", "--family", "figure", "--output", str(out), *flags]
    return command.run(parser.parse_args(words))


def test_the_command_writes_the_snippet(tmp_path, monkeypatch, capsys):
    out = tmp_path / "new" / "figures.yaml"
    assert run_ask(monkeypatch, ScriptedEngine(reply), out) == 0
    assert "1 values, 0 of them unverified" in capsys.readouterr().out
    (entry,) = parse_family(yaml.safe_load(out.read_text(encoding="utf-8")))[2]
    assert entry.value == "Albert Einstein"
    drafts = tmp_path / "drafts.yaml"
    assert run_ask(monkeypatch, ScriptedEngine(reply), drafts, "--unverified") == 0
    assert "2 values, 1 of them unverified" in capsys.readouterr().out
    assert len(parse_family(yaml.safe_load(drafts.read_text(encoding="utf-8")))[2]) == 2


def test_the_teacher_of_a_configuration_is_asked_where_it_is_served(tmp_path, monkeypatch):
    path = tmp_path / "synth.yaml"
    path.write_text(
        "output_dir: out\nteacher: {engine: {model: big, server: {urls: [http://host:1/v1]}}}\n",
        encoding="utf-8",
    )
    configs = []
    for number, flags in enumerate((("--config", str(path)), ("--model", "small"), ())):
        out = tmp_path / f"{number}.yaml"
        assert run_ask(monkeypatch, ScriptedEngine(reply), out, *flags, configs=configs) == 0
    assert [c.model for c in configs] == ["big", "small", EngineConfig().model]
    assert configs[0].server.urls == ("http://host:1/v1",)


def test_a_draft_in_another_script_has_an_id_of_its_own():
    names = ["Ибн Сина", "Аль-Бируни", "孔子", "Élise  O'Hara"]
    values = [AskedValue(name, True, None, ("alpha", "beta", "gamma")) for name in names]
    entries = parse_family(yaml.safe_load(as_catalog_yaml("figure", values)))[2]
    assert [e.id for e in entries] == [
        "figure.ибн_сина", "figure.аль_бируни", "figure.孔子", "figure.elise_o_hara",
    ]  # fmt: skip


def test_the_command_says_what_stands_in_its_way(tmp_path, monkeypatch):
    silent = ScriptedEngine(lambda request: "Hm.")
    message = (
        "the model named no figure of the catalogue that it can tell something right about: .*"
    )
    with pytest.raises(CatalogError, match=message + "--model, or --unverified for drafts"):
        run_ask(monkeypatch, silent, tmp_path / "x.yaml")
    with pytest.raises(CatalogError, match=message + "--model$"):
        run_ask(monkeypatch, silent, tmp_path / "x.yaml", "--unverified")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot write"):
        run_ask(monkeypatch, ScriptedEngine(reply), tmp_path / "file" / "x.yaml")


def test_names_that_differ_in_their_marks_alone_have_ids_of_their_own():
    values = [AskedValue(name, True, None, ("alpha", "beta", "gamma")) for name in ("C++", "C#")]
    entries = parse_family(yaml.safe_load(as_catalog_yaml("hobby", values)))[2]
    assert [e.id for e in entries] == ["hobby.c", "hobby.c_2"]
