from __future__ import annotations

from dataclasses import replace

from starlette.testclient import TestClient

from saywhy.server.telling import told
from saywhy.types import Alignments, FreeText, Header, Verdict, Word, WordScores

HEADER = Header("lime", "yes", ("yes", "no"), (0.9, 0.1), ("good film",))
WORDS = (Word("good", 0, 4), Word("film", 5, 9))


def test_a_verdict_is_told_as_elsewhere() -> None:
    verdict = Verdict((0,), 2, 0.9, 0.9, 0.2, 0.2, (0.2,), (0.9,), better=False)
    said = told(WordScores(HEADER, verdict=verdict, words=WORDS, scores=(1.0, 0.0)).to_dict())
    assert said["judgement"].startswith("no better than random words")
    assert said["sentences"][0].startswith("keeping this word (good): 0.90 → 0.90")
    assert told(WordScores(HEADER, words=WORDS, scores=(1.0, 0.0)).to_dict()) == {}


def test_alignments_tell_their_links() -> None:
    header = replace(HEADER, texts=("good", "film"))
    pair = Alignments(header, premise=WORDS[:1], hypothesis=(Word("film", 0, 4, 1),), scores=((0.7,),))
    assert told(pair.to_dict())["links"] == [((0, 0, 0, 0), 0.7)]


def test_a_sentence_tells_when_its_label_settled() -> None:
    free = FreeText(HEADER, sentence="so good", steps=((0.4, 0.6), (0.8, 0.2)))
    assert told(free.to_dict())["settles"] == "yes (0.80) leads from “good” on"


def test_answers_carry_what_is_told(client: TestClient) -> None:
    body = {"model": "box", "input": {"texts": ["a good film"]}, "method": "leave-one-out"}
    answer = client.post("/api/explain", json=body).json()
    assert "random words" in answer["told"]["judgement"]
