"""Write `gatt/data/bank/number_words.yaml`: the words of numbers in the languages of the catalogue.

    pip install num2words && python scripts/research/bank/number_words.py

num2words has no Chinese and no Greek: both are written here. Words that are common words of another
language are left out, since the answers of all languages count alike: the Turkish word for ten is "on".
"""

from __future__ import annotations

from pathlib import Path

import yaml
from num2words import num2words

PLACE = Path(__file__).parents[3] / "gatt/data/bank/number_words.yaml"
NUMBERS = (*range(101), 120, 144, 150, 180, 200, 250, 300, 360, 365, 366, 400, 500, 600, 1000)
# fmt: off
LANGUAGES = (
    "en", "fr", "es", "de", "it", "pt", "nl", "sv", "da", "no",
    "fi", "pl", "cs", "ro", "hu", "tr", "ru", "ja", "ko",
)
# fmt: on
LEAST_OF_KOREAN = 11
"""Korean numbers of one syllable are parts of other words."""

OTHERS = {
    0: "zéro/nul/noll/nolla/żadne",
    3: "셋/세 개/세 번/三つ/trei/trzech/trzy/třech/kolme/kolmea/трёх/τρία/τρεις",
    4: "넷/네 개/네 번/네 마리/四つ/vier/cztery/czterech/čtyř/neljä/neljää/четырёх/τέσσερα/τέσσερις/τεσσάρων",
    5: "다섯/五つ/pięciu/pěti/viisi/viittä/пяти",
    6: "여섯/六つ/sześciu/šesti/kuusi/kuutta/шести",
    7: "일곱/七つ/siedmiu/sedmi/seitsemän/seitsemää/семи",
    8: "여덟/八つ/ośmiu/osmi/kahdeksan/kahdeksaa/восьми",
    9: "아홉/九つ/dziewięciu/devíti/yhdeksän/yhdeksää/девяти",
    10: "열 개/열 번/dziesięciu/deseti/kymmenen/kymmentä/десяти",
    11: "열한/열하나",
    12: "열두/열둘",
    1000: "a thousand/one thousand/tusen/et tusind/tusind/mil",
}
"""Native Korean and Japanese counting, and cases that stand with a noun."""
_AMBIGUOUS = (
    "un une uno una um uma ein eins eine een en ett et én yksi jeden jedna jedno o unu egy bir один 一 一つ"
    " to dos due on bin ni ti hat het hét sto set ót 이 사 오 육 칠 팔 구 십 일 삼 영 공 천 none"
)
AMBIGUOUS = frozenset(_AMBIGUOUS.split())
WRONG = {6: ["non sei", "não sei", "tu sei", "se sei"]}
"""Italian "six" is also "you are", and the Portuguese "I know"."""

_ZH = "零一二三四五六七八九"
_UP_TO_19 = (
    "μηδέν ένα δύο τρία τέσσερα πέντε έξι επτά/εφτά οκτώ/οχτώ εννέα/εννιά δέκα έντεκα δώδεκα δεκατρία "
    "δεκατέσσερα δεκαπέντε δεκαέξι δεκαεπτά δεκαοκτώ δεκαεννέα"
)
_EL = _UP_TO_19.split()
_TENS = "είκοσι τριάντα σαράντα πενήντα εξήντα εβδομήντα ογδόντα ενενήντα"
_EL_TENS = _TENS.split()
_EL_REST = {
    100: "εκατό",
    200: "διακόσια",
    300: "τριακόσια",
    365: "τριακόσιες εξήντα πέντε",
    1000: "χίλια",
}


def chinese(number: int) -> str:
    """Return a number up to 1000 in Chinese."""
    if number == 1000:
        return "一千"
    hundreds, rest = divmod(number, 100)
    tens, ones = divmod(rest, 10)
    text = f"{_ZH[hundreds]}百" if hundreds else ""
    if tens:
        text += f"{_ZH[tens] if hundreds or tens > 1 else ''}十"
    elif hundreds and ones:
        text += "零"
    return text + (_ZH[ones] if ones or not number else "")


def greek(number: int) -> list[str]:
    """Return a number in Greek, or nothing where it is not written here."""
    if number < 20:
        return _EL[number].split("/")
    if number < 100:
        tens, ones = divmod(number, 10)
        return [
            f"{_EL_TENS[tens - 2]} {one}".strip()
            for one in (_EL[ones].split("/") if ones else [""])
        ]
    return [_EL_REST[number]] if number in _EL_REST else []


def words(number: int) -> list[str]:
    """Return the words of a number, without those that mean something else elsewhere."""
    texts = [
        num2words(number, lang=language)
        for language in LANGUAGES
        if language != "ko" or number >= LEAST_OF_KOREAN
    ]
    texts += [text.replace(" and ", " ") for text in texts[:1]]
    texts += [*greek(number), chinese(number), *OTHERS.get(number, "").split("/")]
    texts = [text.replace("­", "").strip() for text in texts]
    return [text for text in dict.fromkeys(texts) if text and text.lower() not in AMBIGUOUS]


def main() -> None:
    """Write the file, one number a line."""
    lines = [
        "# Words of numbers in the languages of the catalogue, by scripts/research/bank/number_words.py.",
        "words:",
    ]
    for number in NUMBERS:
        listed = yaml.safe_dump(
            words(number), default_flow_style=True, allow_unicode=True, width=10**6
        )
        lines.append(f'  "{number}": {listed.strip()}')
    lines += ["# Texts that hold such a word with another meaning.", "wrong:"]
    for number, texts in WRONG.items():
        lines.append(f'  "{number}": [{", ".join(texts)}]')
    PLACE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
