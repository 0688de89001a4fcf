"""Rules for what German, Spanish and French sentences ask to be named, or not to be named. No torch here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from gatt.commands.init.rule import PartChecks
from gatt.verifiers.spec import VerifierSpec

CODES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("english", "englisch", "inglés", "anglais"), "en"),
    **dict.fromkeys(("french", "französisch", "francés", "français"), "fr"),
    **dict.fromkeys(("german", "deutsch", "alemán", "allemand"), "de"),
    **dict.fromkeys(("spanish", "spanisch", "español", "espagnol"), "es"),
    **dict.fromkeys(("italian", "italienisch", "italiano", "italien"), "it"),
}
"""Codes of languages by their names in five of them."""
_COMMON: Final = re.compile(
    r"(?:immer|stets|auf|an|der|die|das|den|dem|des|eine?[mn]?|unsere?n?|sie|ihn|es|jeder?|antwort|in"
    r"|siempre|al?|el|la"
    r"|los|las|una?|nuestr[oa]s?|del?|que|en|cada|respuesta|sobre|toujours|les?|des|du|notre|nos|votre"
    r"|chaque|réponse"
    r"|dans|[ld])",
    re.IGNORECASE,
)
_GERMAN: Final = re.compile(
    r"erwähn|nenn|weis|erinner|sprich|sprechen|rede|verwend|benutz", re.IGNORECASE
)
_SPANISH: Final = re.compile(r"mencion[ae]|recuerd", re.IGNORECASE)
_AROUND: Final = re.compile(
    r"^(?:(?:immer|stets|auch|bitte|siempre|también|toujours|aussi|in (?:jeder|deiner|ihrer) \w+"
    r"|en (?:cada|tu|su) \w+|dans (?:chaque|ta|votre) \w+)[ ,]+)*"
    r"(?:(?:den|die|der|dem|jede[mnr]?) (?:Kund|Gast|Gäst|Nutzer|Benutzer|Anwender|Patient)\w* )?"
    r"(?:(?:auf|an) )?"
    r"|(?: (?:immer|stets|siempre|toujours|in (?:jeder|deiner|ihrer) \w+|en (?:cada|tu|su) \w+"
    r"|dans (?:chaque|ta|votre) \w+))+$",
    re.IGNORECASE,
)
"""What stands around the thing that is to be named: "immer auf …", "… en cada respuesta"."""
_OBJECT: Final = re.compile(
    r"(?:(?:unser(?:e|en)?|die|das|den|eine?n?|nuestr[oa]s?|el|la|los|las|una?|notre|nos|les?|une?) "
    r"|l['’]|(?-i:(?=[A-ZÄÖÜ])))"
    r"(?:(?!(?:daran|darauf|dass|que|qu['’]|al|au|aux|ob|wenn|si|immer|siempre|toujours|antwort\w*|respuestas?"
    r"|réponses?|nachricht\w*|mensajes?|messages?)\b)[\w'’-]+(?: |$))+$",
    re.IGNORECASE,
)
"""A noun phrase with its article, or a name: it can stand as the object of another sentence."""
_OTHERS: Final = re.compile(r"\b(?:andere\w*|otr[oa]s?|autres?)\b", re.IGNORECASE)
_PRICES: Final = re.compile(r"\b(?:preise?n?|precios?|prix)\b", re.IGNORECASE)


def foreign_mention(groups: Mapping[str, str], table: Mapping[str, Any]) -> PartChecks | None:
    """Return the rule that a reply names a thing, in the forms that its words commonly have."""
    np = _AROUND.sub("", groups.get("np", "").strip())
    spelt = _main_words(np)
    if not spelt:
        return None
    specs = tuple(
        VerifierSpec("terms", {"any_of": _forms(word, groups["hit"])}) for word in spelt[-3:]
    )
    texts = table["foreign_mention"][_language_of(groups["hit"])] if _OBJECT.match(np) else ()
    return PartChecks(
        f"names {' '.join(spelt)}",
        specs,
        utterances=tuple(text.format(np=np) for text in texts),
        obey=f"{{reply}} ({' '.join(spelt)})",
    )


def _language_of(said: str) -> str:
    if _GERMAN.match(said):
        return "de"
    return "es" if _SPANISH.match(said) else "fr"


def foreign_never(groups: Mapping[str, str], _table: Mapping[str, Any]) -> PartChecks | None:
    """Return the rule that a reply does not name a thing; of prices, that it gives none."""
    np = groups.get("np") or groups.get("np2") or groups.get("np3", "")
    spelt = _main_words(np)
    if not spelt or _OTHERS.search(np):
        return None
    if _PRICES.search(np):
        spec = VerifierSpec.from_dict({"kind": "not", "of": {"kind": "price"}})
    else:
        spec = VerifierSpec(
            "excludes", {"terms": [form for word in spelt for form in _forms(word, groups["hit"])]}
        )
    return PartChecks(f"leaves out {np}", (spec,))


def _main_words(np: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_][\w-]*", np) if not _COMMON.fullmatch(word)]


def _forms(word: str, said: str) -> list[str]:
    """Return a word of a German clause with its endings, "Lieferung" also as "liefern"; others as they are."""
    forms = [word]
    if not _GERMAN.match(said):
        return forms
    if match := re.fullmatch(r"(?P<stem>[a-zäöüß]{4,})(?:e[nmrs]?)", word):
        forms += [match["stem"] + ending for ending in ("", "e", "en", "er", "es", "em")]
    if match := re.fullmatch(r"(?P<stem>[A-ZÄÖÜ]\w{3,})ung(?:en)?", word):
        stem = match["stem"].lower()
        forms += [f"{match['stem']}ungen", *(stem + e for e in ("n", "en", "t", "e")), f"ge{stem}t"]
    return list(dict.fromkeys(forms))
