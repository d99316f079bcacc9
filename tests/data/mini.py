"""A folder in the layout of the normalised corpora, with a few made-up rows in every file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_POLAR = [{"text": "what a dull film", "label": 0}, {"text": "a fine film", "label": 1}]
_PAIRS = [
    {"id": "p1", "premise": "A dog runs.", "hypothesis": "An animal moves.", "label": "entailment"},
    {"id": "p2", "premise": "A dog runs.", "hypothesis": "A dog sleeps.", "label": "contradiction"},
]
_SENTENCES = [
    {"text": f"{lead} {noun} we saw was {word} indeed", "label": label}
    for label, words in enumerate((("dull", "weak", "bad"), ("fine", "great", "good")))
    for word in words
    for noun in ("film", "movie", "picture", "drama", "comedy", "show", "play", "sequel")
    for lead in ("the", "this", "that", "every")
]
_PLAIN = [
    {"text": f"{name} goes to {town} by train", "label": 1}
    for name in ("anna", "ben", "carla", "david", "emma", "felix", "greta", "hugo")
    for town in ("paris", "rome", "oslo", "vienna", "madrid")
]
_GOODS = [
    {"text": f"my new {noun} turned out {word} again", "label": label}
    for label, words in enumerate((("awful", "broken"), ("lovely", "perfect")))
    for word in words
    for noun in ("phone", "radio", "camera", "kettle", "lamp", "fan", "drill", "chair", "bed", "desk")
]
_COSE = {
    "id": "q1",
    "question": "Where do you keep milk?",
    "choices": ["fridge", "oven", "car", "tree", "sea"],
    "concept": "milk",
    "answer": 0,
    "explanation": "Milk must be kept cold.",
    "selected": "keep milk",
}
_EWT = {
    "id": "s1",
    "text": "Dogs bark.",
    "tokens": ["Dogs", "bark", "."],
    "lemmas": ["dog", "bark", "."],
    "upos": ["NOUN", "VERB", "PUNCT"],
    "xpos": ["NNS", "VBP", "."],
    "heads": [2, 0, 2],
    "deprels": ["nsubj", "root", "punct"],
    "predicates": [{"token": 1, "frame": "bark.01", "args": [["ARG0", 0, 1], ["V", 1, 2]]}],
}
_QUERY = {
    "id": "m1",
    "docs": ["d1"],
    "query": "Who barked ? || A dog",
    "evidences": [[{"doc": "d1", "tokens": [4, 8], "sentences": [1, 2]}]],
}
_DOCS = [{"doc": "d1", "sentences": ["It was late .", "A dog barked ."]}]
_SQUAD = {"id": "s", "title": "T", "context_id": 0, "question": "Who barks?", "answers": [{"text": "dog", "start": 4}]}
_HIGHLIGHT = {
    **_PAIRS[1],
    "annotations": [
        {"explanation": "It runs or sleeps.", "premise_char_spans": [[6, 10]], "hypothesis_char_spans": [[6, 12]]}
    ],
}
_BEER = [
    {"text": "nice head . poor smell .", "scores": [0.9, 0.2, 0.5, 0.6, 0.7]},
    {"text": "so so .", "scores": [0.5] * 5},
]
_COMVE = {
    "id": "1",
    "statements": ["He drinks sand.", "He drinks milk."],
    "nonsense_index": 0,
    "options": ["Sand is yellow.", "Sand cannot be drunk.", "Milk is white."],
    "answer": 1,
    "explanations": ["Sand is no drink.", "Nobody drinks sand.", "Sand is solid."],
}
_RATED = {"id": "h1", "text": "Clean room , rude staff", "location": None, "service": 1, "cleanliness": 5}

FILES: Mapping[str, list[dict[str, Any]]] = {
    **{f"sst/sst2_{s}": _SENTENCES for s in ("train", "dev", "test")},
    "sst/sst2_glue_phrases_train": _POLAR,
    **{
        f"sst/sst5_trees_{s}": [{"text": "good film", "label": 3, "tree": "(3 (3 good) (2 film))"}]
        for s in ("train", "dev", "test")
    },
    **{
        f"imdb/{s}": [{"id": f"neg/{i}_1", **row, "stars": 1} for i, row in enumerate(_POLAR)]
        for s in ("train", "test")
    },
    **{f"cad_imdb/{s}": [{"pair": 1, "source": "original", **_POLAR[0]}] for s in ("train", "dev")},
    **{f"yelp_sentences/{s}": _GOODS for s in ("dev", "test")},
    "yelp_polarity/sample_1k": _POLAR,
    **{f"amazon_multidomain/{d}": _POLAR for d in ("books", "dvd", "electronics", "kitchen", "video")},
    "amazon_musical_instruments/reviews_partial": [{"text": "good strings", "stars": 5}, {"text": "bad", "stars": 2}],
    **{f"amazon_sentences/{s}": _GOODS for s in ("dev", "test")},
    **{f"sentence_classification/{s}": _SENTENCES for s in ("mr", "cr", "mpqa")},
    "sentence_classification/subj": _PLAIN,
    **{f"sentence_classification/trec_{s}": [{"text": "How far is it ?", "label": 5}] for s in ("train", "test")},
    **{f"snli/{s}": [*_PAIRS, {**_PAIRS[0], "id": "p3", "label": "-"}] for s in ("train_1024_sample", "dev", "test")},
    **{f"esnli/{s}": [{**_PAIRS[0], "explanations": ["Dogs are animals."] * 3}] for s in ("dev", "test")},
    **{f"esnli/highlights_{s}_sample": [_HIGHLIGHT] for s in ("dev", "train")},
    **{f"multinli/{s}": _PAIRS for s in ("dev_matched", "train_20k", "val_5k")},
    **{f"sick/{s}": [{**row, "relatedness": 3.5} for row in _PAIRS] for s in ("train", "dev", "test")},
    "breaking_nli/test": [{**_PAIRS[1], "category": "verbs"}],
    **{
        f"hans/{s}": [{**_PAIRS[1], "label": "non-entailment"}]
        for s in ("evaluation_regenerated", "official_sample_1k")
    },
    **{f"cad_snli/{s}": [{**row, "source": "original"} for row in _PAIRS] for s in ("train", "dev")},
    **{f"cose/v{v}_{s}": [_COSE] for v in ("1.11", "1.0") for s in ("train", "dev")},
    **{f"cose/v{v}_test_unlabelled": [{k: _COSE[k] for k in ("id", "question", "choices")}] for v in ("1.11", "1.0")},
    **{f"comve/{s}": [_COMVE] for s in ("train", "dev", "test")},
    **{
        f"eraser_movies/{s}": [
            {"id": "m", "sentences": ["a film .", "it is bad ."], "label": "NEG", "evidence_token_spans": [[3, 6]]}
        ]
        for s in ("train", "val")
    },
    **{f"eraser_multirc/{s}": [{**_QUERY, "label": "True"}] for s in ("val", "test")},
    **{f"eraser_fever/{s}": [{**_QUERY, "label": "SUPPORTS"}] for s in ("val", "test")},
    "eraser_multirc/docs": _DOCS,
    "eraser_fever/docs": _DOCS,
    **{f"beer/aspect{i}_heldout": _BEER for i in range(4)},
    "beer/annotated_test_reviews_model_rationales": [
        {
            "id": 0,
            "tokens": ["nice", "head"],
            "appearance_rating": 0.8,
            "model_rationale_token_spans": {"appearance": [[0, 2]], "aroma": [], "palate": []},
        }
    ],
    "beer/reviews_partial": [
        {"text": "Nice head.", "appearance": 4.5, "aroma": 2.0, "palate": 4.0, "taste": 3.0, "overall": 3.0}
    ],
    "hotel/tripadvisor_aspect_reviews": [_RATED, {**_RATED, "id": "h2", "location": 5, "service": 3}],
    "hatexplain/val": [{"id": "1", "tokens": ["you", "fool"], "label": "offensive", "rationales": [[0, 1], [1, 1]]}],
    **{
        f"toxic_spans/{s}": [{"text": "you fool", "toxic_char_spans": [[4, 8]]}, {"text": "go", "toxic_char_spans": []}]
        for s in ("train", "trial", "test")
    },
    **{f"squad_v1.1/{s}": [_SQUAD] for s in ("dev", "train_partial")},
    **{f"squad_v1.1/{s}_contexts": [{"context_id": 0, "context": "The dog barks."}] for s in ("dev", "train_partial")},
    **{f"ewt_syntax_srl/{s}": [_EWT] for s in ("train", "dev", "test")},
}


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as JSON Lines, packed if the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def write_root(root: Path) -> Path:
    """All files under ``root``."""
    for name, rows in FILES.items():
        write_jsonl(root / f"{name}.jsonl.gz", rows)
    return root
