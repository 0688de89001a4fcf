"""What the replies of the agreement test are made of: things that assistants say."""

from __future__ import annotations

from functools import cache

import yaml

from gatt.data.catalog.read import default_catalog_path

CATALOG = default_catalog_path()

SENTENCES = (
    "I would take the early train, because it is faster and cheaper than the bus.",
    "The old bridge was closed for repairs last winter.",
    "You can find fresh bread at the small bakery near the river.",
    "My sister started to paint when she was nine years old.",
    "It rained all morning, so we stayed at home and played cards.",
    "A short walk after dinner helps me sleep.",
    "Many people forget to water their plants in August.",
    "The recipe needs two eggs, a cup of flour and some butter.",
    "Our neighbours have adopted a grey cat with one white paw.",
    "That film made me laugh more than any other this year.",
    "Please remember to lock the door when you leave.",
    "The museum shows paintings from the seventeenth century.",
    "I don't think that it's worth the money.",
    "We've been there twice, and we're going again in spring.",
    "She wrote a well-known book about the history of tea.",
    "Have you ever tried to learn a second language?",
    "What a wonderful idea!",
    "The garden looks its best in the evening light.",
    "He repaired the clock with nothing but a small screwdriver.",
    "There is a quiet path that leads down to the lake.",
    "Learning to cook takes patience and a bit of courage.",
    "The children built a castle out of wet sand.",
    "Do you prefer the mountains or the sea?",
    "My grandfather kept bees behind the barn.",
    "The library stays open until eight on Thursdays.",
    "Start with the easy questions and come back to the hard ones later.",
    "Be careful with the sharp edge of the lid.",
    "Nobody expected the party to last until sunrise.",
    "The farmer's market sells honey, cheese and apples.",
    "It takes about forty minutes by bike.",
    "The soup tastes better on the second day.",
    "I often read the newspaper on the balcony.",
    "A good pair of shoes is more important than an expensive jacket.",
    "They argued about the weather instead of the heart of the matter.",
    "You should ask your doctor before you change your diet.",
    "The train to the coast leaves from platform four.",
    "Nothing beats a warm blanket on a cold night.",
    "In my view, small steps lead to lasting habits.",
    "The concert was sold out within an hour.",
    "Write down three things that made you smile today.",
)
"""No word of one is what another is asked for by chance alone; no two say the same."""

TRAPS = (
    "Dr. Smith moved to St. Louis with Mrs. Jones in Jan. 2019.",
    "It costs 3.50 dollars, i.e. less than a coffee, e.g. at the station.",
    "He lives in the U.S. It is a large country.",
    "Well... I am not so sure about that.",
    '"Stop!" he shouted. "You have forgotten your bag."',
    "What?! No way!!",
    "J. K. Rowling wrote it on a train.",
    "Read more at www.example.com. It is free.",
    "We meet at 5 p.m. on the corner of Main St. and 2nd Ave.",
    "I like jazz (and blues!) a lot.",
    "Use version 2.1.3 of the program and **not** the old one.",
    "Yes. No. Maybe.",
    "Tea, coffee, juice, etc. are on the menu.",
    "He asked me. I said no. That was all.",
)

CARRIERS = {
    "art": ("party", "started", "heart"),
    "eat": ("weather", "wheat", "great"),
    "rain": ("train", "brain", "drain"),
    "ear": ("early", "heard", "years"),
    "tea": ("instead", "steam", "team"),
    "over": ("lovers", "discover", "government"),
    "act": ("actually", "character", "factory"),
}
"""A word -> longer words that hold it and have nothing to do with it."""

INFLECTED = {
    "walk": ("walked", "walking"),
    "garden": ("gardens", "gardening"),
    "paint": ("painted", "painting"),
    "cook": ("cooked", "cooking"),
    "plan": ("plans", "planned"),
    "rain": ("rained", "raining"),
}
"""A word -> forms of the same word."""

ABOUT_WORD = (
    "Somebody mentioned {w} at lunch.",
    "For me the best part of it is {w}.",
    "There was nothing on the page but {w}.",
    "The teacher wrote {w} on the board twice a week.",
    "Without {w} the whole evening would be dull.",
    "My brother cannot stop talking about {w}.",
    "I looked it up, and the answer was {w}.",
    "Once more they chose {w}, to nobody's surprise.",
)

MORE_LANGUAGES = {
    "fr": "Je prends le train de huit heures. Il est plus rapide que le bus.",
    "es": "Tomo el tren de las ocho. Es más rápido que el autobús.",
    "de": "Ich nehme den Zug um acht Uhr. Er ist schneller als der Bus.",
    "it": "Prendo il treno delle otto. È più veloce dell'autobus.",
    "pt": "Eu vou no comboio das oito horas. É mais rápido do que o autocarro.",
    "pl": "Jadę pociągiem o ósmej. Jest szybszy niż autobus.",
    "fi": "Menen kahdeksan junalla. Se on nopeampi kuin bussi.",
    "ru": "Я поеду на восьмичасовом поезде. Он быстрее, чем автобус.",
    "ja": "八時の電車に乗ります。バスより速いです。",
    "ko": "저는 여덟 시 기차를 탑니다. 버스보다 더 빠릅니다.",
}
"""The languages that both sides know, with replies beside those of the catalogue."""


@cache
def replies_by_language() -> dict[str, list[str]]:
    """Return replies by language code: the catalogue's good ones, and a few more."""
    entries = yaml.safe_load((CATALOG / "languages.yaml").read_text(encoding="utf-8"))["entries"]
    found: dict[str, list[str]] = {entry["facts"]["code"]: entry["good"] for entry in entries}
    return {code: [*found[code], text] for code, text in MORE_LANGUAGES.items()}
