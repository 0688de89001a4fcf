"""A person's name in its usual forms, and what is no name of that person."""

from __future__ import annotations

import pytest

from gatt.verifiers.persona.names import matches_name

NAMED = [
    ("C. V. Raman", "As C. V. Raman, I studied light.", "C. V. Raman"),
    ("C. V. Raman", "As Raman, I studied light.", "Raman"),
    ("C. V. Raman", "I am C.V. Raman.", "C.V. Raman"),
    ("C. V. Raman", "CV Raman speaking.", "CV Raman"),
    ("C. V. Raman", "Sir Raman, at your service", "Raman"),
    ("J. R. R. Tolkien", "As J.R.R. Tolkien, I wrote.", "J.R.R. Tolkien"),
    ("J. R. R. Tolkien", "Tolkien's books are mine.", "Tolkien"),
    (
        "Martin Luther King Jr.",
        "I, Martin Luther King, Jr., had a dream.",
        "Martin Luther King, Jr",
    ),
    ("Martin Luther King Jr.", "As Martin Luther King, I marched.", "Martin Luther King"),
    ("Martin Luther King Jr.", "My name is Dr. King.", "King"),
    ("Martin Luther King Jr.", "They called me MLK.", "MLK"),
    ("Dr. Martin Luther King Jr.", "I am M. L. King.", "M. L. King"),
    ("Alexander the Great", "I am Alexander.", "Alexander"),
    ("Alexander the Great", "As Alexander the Great, I rode east.", "Alexander the Great"),
    ("Catherine the Great", "Catherine, Empress of Russia, greets you.", "Catherine"),
    ("Ludwig van Beethoven", "I am Beethoven.", "Beethoven"),
    ("Ludwig van Beethoven", "As L. van Beethoven, I compose.", "L. van Beethoven"),
    ("Alexander von Humboldt", "As Von Humboldt I travelled.", "Von Humboldt"),
    ("Alexander von Humboldt", "Herr von Humboldt here.", "von Humboldt"),
    ("Zheng He", "As Zheng He, I sailed.", "Zheng He"),
    ("Zheng He", "He Zheng is a way to write it.", "He Zheng"),
    ("Mao Zedong", "I am Mao Ze-dong.", "Mao Ze-dong"),
    ("José Rizal", "I am Jose Rizal.", "Jose Rizal"),
    ("Frederic Chopin", "As Frédéric Chopin, I play.", "Frédéric Chopin"),
    ("Marie Curie", "I am Madame Curie.", "Curie"),
    ("Marie Curie", "MARIE CURIE", "MARIE CURIE"),
    ("Napoleon Bonaparte", "Bonaparte’s army", "Bonaparte"),
    ("Simón Bolívar", "I am S. Bolivar", "S. Bolivar"),
    ("Elizabeth II", "I am Queen Elizabeth.", "Elizabeth"),
    ("Queen Elizabeth I", "As Elizabeth I, I reigned.", "Elizabeth I"),
    ("Charles de Gaulle", "I am De Gaulle.", "De Gaulle"),
    ("Vincent van Gogh", "Call me Vincent van Gogh, or V. van Gogh.", "Vincent van Gogh"),
    ("Kim Dae-jung", "I am Kim Daejung.", "Kim Daejung"),
    ("Søren Kierkegaard", "Soren Kierkegaard", "Soren Kierkegaard"),
    ("Cleopatra", "As Cleopatra, I ruled.", "Cleopatra"),
]
NOT_NAMED = [
    ("Martin Luther King Jr.", "I am Martin."),
    ("Martin Luther King Jr.", "As Stephen King, I write."),
    ("Martin Luther King Jr.", "I was a king."),
    ("Martin Luther King Jr.", "Kingston is hot."),
    ("Martin Luther King Jr.", "I met King Charles."),
    ("Zheng He", "He sailed far."),
    ("Zheng He", "He is well."),
    ("C. V. Raman", "I like ramen."),
    ("C. V. Raman", "I am Ramanujan."),
    ("J. R. R. Tolkien", "I am Christopher Tolkien."),
    ("Alexander the Great", "I am Alexander Pope."),
    ("Alexander the Great", "The great Alexandria"),
    ("Ludwig van Beethoven", "I am in a van."),
    ("Alexander von Humboldt", "I am Wilhelm von Humboldt."),
    ("Joseph Banks", "I like river banks."),
    ("Ada Lovelace", "There is no name here."),
    ("Queen Elizabeth I", "I am Napoleon."),
    ("Alexander the Great", "I am Alexander von Humboldt."),
    ("George Washington", "I am George Washington Carver."),
    ("Marie Curie", "I am Marie."),
    ("Marie Curie", "I am Pierre Curie."),
]


@pytest.mark.parametrize(("name", "reply", "said"), NAMED)
def test_every_usual_form_is_found(name: str, reply: str, said: str) -> None:
    span = matches_name(reply, name)
    assert span is not None
    assert reply[slice(*span)] == said


@pytest.mark.parametrize(("name", "reply"), NOT_NAMED)
def test_words_and_other_people_are_not(name: str, reply: str) -> None:
    assert matches_name(reply, name) is None
