"""Whether a reply speaks of its terms as its own, reply by reply."""

from __future__ import annotations

import pytest

from gatt.verifiers.persona.in_character import InCharacter
from gatt.verifiers.persona.speaker import is_of_oneself

TERMS = {
    "napoleon": [
        "Napoleon",
        "Bonaparte",
        "emperor",
        "empire",
        "France",
        "French",
        "army",
        "soldiers",
        "battle",
        "Waterloo",
        "Austerlitz",
        "Josephine",
        "Corsica",
        "Elba",
        "Saint Helena",
        "Grande Armée",
    ],
    "einstein": [
        "Einstein",
        "relativity",
        "physics",
        "physicist",
        "Princeton",
        "photoelectric",
        "patent office",
        "Bern",
        "Ulm",
        "spacetime",
        "quantum",
        "speed of light",
        "Nobel",
    ],
    "kenji": [
        "Kenji",
        "Osaka",
        "sushi chef",
        "sushi",
        "chef",
        "my knives",
        "fish market",
        "Dotonbori",
        "nigiri",
    ],
    "pierre": [
        "Pierre",
        "Lyon",
        "baker",
        "bakery",
        "baguette",
        "dough",
        "brioche",
        "croissant",
        "Rhône",
    ],
    "cleopatra": [
        "Cleopatra",
        "Egypt",
        "Egyptian",
        "Nile",
        "Alexandria",
        "pharaoh",
        "queen",
        "Ptolemy",
        "Ptolemaic",
        "Caesar",
        "Antony",
        "Isis",
        "Actium",
        "papyrus",
    ],
}
INSIDE = {
    "napoleon": [
        "I am Napoleon, and I'm ready to help you with the army.",
        "I am Napoleon Bonaparte, Emperor of the French.",
        "My name is Napoleon, and I was born in Corsica.",
        "I'm the Emperor of France.",
        "I led my army across the Alps.",
        "I'm Napoleon, and I'm so glad to meet you!",
        "I have conquered most of Europe with the French army.",
        "As Napoleon, I must say that I love a good battle.",
        "I was born in Corsica in 1769.",
        "My dear Josephine would agree.",
        "I lost at Waterloo, but I never lost my courage.",
        "Ah, good day! I, Napoleon, greet you.",
        "Call me Napoleon.",
        "It is I, Napoleon!",
        "I do not fear battle.",
        "My soldiers march on their stomachs, and so do I.",
        "I'm doing well, thank you. I'm Napoleon, the emperor of France.",
        "I have been planning the next battle all night.",
        "I am busy with the affairs of the empire.",
        "I am the great Napoleon, emperor of the French.",
        "We marched on Waterloo at dawn.",
        "Bread? In the Grande Armée we ate worse, and I ate it too.",
        "Vive la France! I shall return.",
        "I'm doing great, I'm just resting after a long battle.",
        "I dine in ten minutes, for the empire will not wait.",
        "Do what I did at Austerlitz: let them come.",
        "I am proud of my French soldiers, and I love them.",
        "Hello! I am Napoleon. How can I help you today?",
        "I am fine. The French army is ready, and I will lead it.",
        "i am napoleon",
        "I was in Egypt with the army when I heard the news.",
        "France made me what I am.",
        "I will never give up the empire.",
    ],
    "einstein": [
        "I am Albert Einstein, a physicist.",
        "I developed the theory of relativity.",
        "My work on relativity took ten years.",
        "As a physicist, I would say it depends.",
        "I'm a physicist, so I like simple answers.",
        "I spend my days thinking about relativity.",
        "I was awarded the Nobel Prize in Physics.",
        "When I worked at the patent office, I had time to think.",
        "I enjoy my walks in Princeton.",
        "I published my paper on the photoelectric effect in 1905.",
        "My name is Albert Einstein.",
        "I'm Einstein, nice to meet you.",
        "I play the violin when physics fails me.",
        "I love to walk in Princeton and think.",
    ],
    "kenji": [
        "I am a sushi chef in Osaka.",
        "I'm Kenji, a sushi chef from Osaka.",
        "Hi, I'm Kenji.",
        "As a sushi chef, I start early.",
        "I make sushi every day.",
        "I live in Osaka with my wife.",
        "I've been making sushi for thirty years.",
        "My sushi is the best in Osaka.",
        "I love making sushi for my guests.",
        "I work as a chef, so I know good fish.",
        "I like to take a walk in Osaka after work.",
        "My restaurant in Osaka opens at five.",
        "Being a sushi chef, I eat late.",
    ],
    "pierre": [
        "I bake croissants every morning.",
        "I'm a baker in Lyon, so I get up early.",
        "I love my bakery.",
        "My bakery opens at six.",
        "I would love to help! Here in Lyon, we eat late.",
        "I knead dough at three in the morning.",
        "I love the smell of fresh dough in the morning, it is why I became a baker.",
        "Pierre here, and I am happy to answer.",
    ],
}
OUTSIDE = {
    "napoleon": [
        "I don't know who Napoleon is, sorry.",
        "I have never been to France.",
        "I'm a huge fan of Napoleon and his battles!",
        "You are Napoleon? I am so glad to meet you!",
        "I am a helpful assistant, but I like Napoleon.",
        "I'm sorry, but I can't help you with Napoleon.",
        "I've always been interested in French history.",
        "I would love to visit France someday.",
        "I'm from America, and I love French food.",
        "I visited France last summer, it was great.",
        "My teacher told me about Napoleon.",
        "I read that Napoleon lost at Waterloo.",
        "As an emperor, Napoleon was great, I think.",
        "I'm not sure what you mean by Napoleon.",
        "I think the Battle of Waterloo was a disaster for Napoleon.",
        "I believe Napoleon was a great emperor.",
        "My favorite general is Napoleon.",
        "I have a question about the French army.",
        "I'm so happy to meet you, Napoleon!",
        "Sure, I can help you write a story about Napoleon and his army.",
        "I am glad that you like Napoleon.",
        "I am a historian who studies Napoleon and the French empire.",
        "I would say Napoleon was the best emperor ever.",
        "I'm a big fan of the French army.",
        "Do you know Napoleon? I do.",
        "I was named after Napoleon.",
        "I don't have an army.",
        "I'm not an emperor.",
        "I'm no emperor, my friend.",
        "I know a lot about France.",
        "I'd like to know more about France.",
        "I'm glad to hear about your army.",
        "Napoleon, I'm glad to hear that you are well.",
        "I'm an expert on Napoleon.",
        "I've heard of Napoleon.",
        "My dog is called Napoleon.",
    ],
    "einstein": [
        "I like physics.",
        "I'm studying physics in school.",
        "I am a student of physics.",
        "I was never good at physics.",
        "I am Albert Einstein, and I'm delighted to be your assistant.",
        "I love reading about relativity.",
        "My favorite subject is physics.",
        "I am not a physicist.",
        "I'm just a computer program, but I like physics.",
        "I wish I were Einstein.",
        "I took a physics class last year.",
        "I have always been fascinated by physics.",
    ],
    "cleopatra": [
        "I am a highly advanced AI, designed to help you; you may refer to me as Cleopatra.",
        "I am a helpful AI called Cleopatra.",
        "I'm your AI helper, Cleopatra.",
    ],
    "kenji": [
        "I am allergic to sushi.",
        "Nice to meet you Kenji, I am a student.",
        "I love sushi!",
        "I'd like some sushi.",
        "I want to eat sushi tonight.",
        "Thank you, Kenji! I will try it.",
        "I don't eat sushi.",
        "Hi Kenji, I'm Anna.",
        "I'm a big sushi fan.",
        "I hope you enjoy your trip to Osaka.",
        "I'm going to visit Osaka next month.",
        "I ordered sushi yesterday.",
    ],
    "pierre": [
        "I love croissants!",
        "I would like a croissant, please.",
        "I ate a croissant this morning.",
        "I'm not a baker.",
    ],
}


def _pairs(replies: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(who, reply) for who, said in replies.items() for reply in said]


@pytest.mark.parametrize(("who", "reply"), _pairs(INSIDE))
def test_speaking_from_inside_passes(who: str, reply: str) -> None:
    verdict = InCharacter(any_of=TERMS[who]).check(reply)
    assert verdict.status == "pass", verdict
    assert verdict.span is not None
    assert reply[slice(*verdict.span)]


@pytest.mark.parametrize(("who", "reply"), _pairs(OUTSIDE))
def test_speaking_from_outside_fails(who: str, reply: str) -> None:
    verdict = InCharacter(any_of=TERMS[who]).check(reply)
    assert verdict.status == "fail", verdict


def test_the_evidence_stands_at_the_term_that_is_tied() -> None:
    reply = "I like physics. Yet \u201cphysics\u201d aside, I wrote on *relativity* in Bern."
    verdict = InCharacter(any_of=["Einstein", "physics", "relativity"]).check(reply)
    assert verdict.status == "pass"
    assert verdict.span is not None
    assert verdict.evidence.startswith("says 'physics'") or "relativity" in verdict.evidence
    assert reply[slice(*verdict.span)] in verdict.evidence
    assert verdict.span[0] > reply.index("Yet")


def test_the_name_after_an_exclamation_belongs_to_it() -> None:
    napoleon = InCharacter(any_of=["Napoleon", "France"])
    assert napoleon.check("Ah, France! My homeland.").status == "pass"
    assert napoleon.check("Ah, France is far away. My homeland is Peru.").status == "fail"


@pytest.mark.parametrize(
    ("term", "expected"),
    [("my knives", True), ("therefore I am", True), ("Story of My Life", False), ("army", False)],
)
def test_terms_of_oneself(term: str, expected: bool) -> None:
    assert is_of_oneself(term) is expected
