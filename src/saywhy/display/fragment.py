"""Explanations as HTML fragments for notebooks and pages.

Blue speaks for the explained label, orange against it. Colour is never the only carrier: strong words are bold (for)
or bold and slanted (against), and the strongest are listed with their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from saywhy.display.colours import COLOURS
from saywhy.display.links import links_svg
from saywhy.display.parts import (
    LEVELS,
    STRONG,
    Link,
    check_lengths,
    evolution,
    level_of,
    links_of,
    margins,
    marked_names,
    number,
    opposed_pairs,
    peak,
    quoted,
    rationale_sentence,
    segments,
    settles,
    strongest,
    visible,
)
from saywhy.display.verdict import judgement, verdict_sentences
from saywhy.types import Alignments, Explanation, FreeText, Header, Rationale, Span, Word, WordScores

__all__ = ["STYLE", "explanation_html", "safe", "words_html"]

BLUE, ORANGE = (0, 110, 190), (226, 112, 0)
STRONGEST_ALPHA = 0.6
MATRIX_SIDE = 60
LONG_TEXT = 4000
LISTED = 400
# A translucent background keeps the host page's own ink readable, whether its theme is light or dark.
_SHADES = "".join(
    f".saywhy .{name}{level}{{background:rgba({r},{g},{b},{STRONGEST_ALPHA * level / LEVELS:.2f})}}"
    for name, (r, g, b) in (("f", BLUE), ("a", ORANGE))
    for level in range(1, LEVELS + 1)
)
_HUES = "".join(f".saywhy .k{i}{{--k:{colour}}}" for i, colour in enumerate(COLOURS))
# The edges of boxes are drawn inside their cells, so that neighbours keep their own colours; what leaves shadows out,
# as printers may, has lines.
_EDGES = (
    ("bt", "--t:2px", "top"),
    ("bb", "--b:-2px", "bottom"),
    ("bl", "--l:2px", "left"),
    ("br", "--r:-2px", "right"),
)
_BOXES = (
    ".saywhy .sw-matrix td.bx{box-shadow:inset 0 var(--t,0px) var(--k),inset 0 var(--b,0px) var(--k),"
    "inset var(--l,0px) 0 var(--k),inset var(--r,0px) 0 var(--k)}"
    + "".join(f".saywhy .sw-matrix td.{name}{{{size}}}" for name, size, _ in _EDGES)
    + "@media print,(forced-colors:active){"
    + "".join(f".saywhy .sw-matrix td.{name}{{border-{side}:2px solid}}" for name, _, side in _EDGES)
    + "}"
)
STYLE = (
    ".saywhy{line-height:1.5;max-width:60rem}"
    ".saywhy p{margin:.3em 0}"
    ".saywhy .sw-text{white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.85;margin:.1em 0 .5em}"
    ".saywhy .sw-text span{border-radius:.2em;padding:.12em 0}"
    ".saywhy .st{font-weight:650}.saywhy .st.ag{font-style:italic}"
    ".saywhy .go{text-decoration:underline;text-decoration-thickness:2px;text-underline-offset:.28em}"
    ".saywhy .sw-name,.saywhy .sw-key,.saywhy .sw-top,.saywhy .sw-more{font-size:.85em;opacity:.85}"
    ".saywhy .sw-name{display:block;font-weight:600}"
    ".saywhy .sw-key span{border-radius:.2em;padding:.05em .4em}"
    ".saywhy .sw-note{border-inline-start:3px solid;padding-inline-start:.6em;font-size:.9em}"
    ".saywhy .sw-verdict{font-size:.9em;margin:.5em 0;font-variant-numeric:tabular-nums}"
    ".saywhy .sw-verdict ul{list-style:none;margin:0;padding:0}"
    ".saywhy .sw-verdict li{overflow-wrap:anywhere;margin:.15em 0}"
    ".saywhy .sw-scroll{overflow-x:auto;max-width:100%}"
    ".saywhy table.sw-matrix{border-collapse:collapse;font-size:.85em;margin:.4em 0;width:auto}"
    ".saywhy .sw-matrix th{font-weight:400;text-align:end;padding:0 .5em;white-space:nowrap;border:0;background:none}"
    ".saywhy .sw-matrix thead th{writing-mode:vertical-rl;transform:rotate(180deg);text-align:start;padding:.4em 0}"
    ".saywhy .sw-matrix td{width:1.7em;min-width:1.7em;height:1.7em;padding:0;border:1px solid rgba(128,128,128,.25)}"
    ".saywhy .sw-matrix thead td{border:0}"
    ".saywhy .sw-matrix td b{display:block;text-align:center;font-size:.85em;line-height:1}"
    ".saywhy .sw-n{border:2px solid var(--k);border-radius:.3em;padding:0 .3em;font-weight:650}"
    ".saywhy .sw-quote{font-size:1.1em;margin:.4em 0;padding-inline-start:.8em;border-inline-start:3px solid}"
    ".saywhy .sw-more ol{display:flex;flex-wrap:wrap;gap:0 1em;list-style:none;margin:.3em 0;padding:0}"
    ".saywhy dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em;margin:.4em 0}"
    ".saywhy dd{margin:0;overflow-wrap:anywhere}.saywhy summary{cursor:pointer}" + _SHADES + _HUES + _BOXES
)


def words_html(
    texts: Sequence[str],
    words: Sequence[Word] = (),
    scores: Sequence[float] = (),
    *,
    selected: Sequence[bool] = (),
    gold: Sequence[Span] = (),
    names: Sequence[str] = (),
) -> str:
    """The texts, field by field, with words coloured by score or selection and gold spans underlined.

    Args:
        texts: all fields as the user gave them, in the order ``Word.field`` counts.
        words: the words, placed by their offsets.
        scores: one number a word; with ``selected`` they are shown on hover only.
        selected: one flag a word; selected neighbours are joined.
        gold: spans to underline.
        names: a heading for each field; an empty one is left out.

    Returns:
        HTML that expects `STYLE` and a surrounding element of class ``saywhy``.
    """
    check_lengths(words, scores, selected)
    top, out = peak(scores), []
    terse = len(words) > LONG_TEXT
    for field, text in enumerate(texts):
        name = names[field] if field < len(names) else ""
        pieces = []
        for chunk, at, is_gold in segments(text, field, words, gold, selected):
            shown, classes, title = safe(chunk), [], ""
            if at is not None:
                level = (STRONG if selected[at] else 0) if selected else level_of(scores[at], top) if scores else 0
                classes = _classes(level)
                # Weak words of very long texts lose their score on hover, which keeps the page light.
                if scores and (level or not terse):
                    title = f' title="{number(scores[at])}"'
            classes += ["go"] if is_gold else []
            attributes = (f' class="{" ".join(classes)}"' if classes else "") + title
            pieces.append(f"<span{attributes}>{shown}</span>" if attributes else shown)
        heading = f'<span class="sw-name">{safe(name)}</span>' if name else ""
        out.append(f'<div class="sw-field">{heading}<div class="sw-text" dir="auto">{"".join(pieces)}</div></div>')
    return "".join(out)


def explanation_html(explanation: Explanation, *, gold: Sequence[Span] = (), compact: bool = False) -> str:
    """One explanation as a self-contained fragment: no script, nothing fetched, every text escaped.

    Args:
        explanation: any of the four kinds.
        gold: spans of the true rationale, underlined.
        compact: leave out the style sheet, the colour key and the prediction, for a page that has them already.
    """
    header = explanation.header
    names = marked_names(header)
    fields = header.texts + header.choices
    parts = [f'<p class="sw-head">{_headline(header, compact)}</p>']
    if isinstance(explanation, WordScores):
        parts.append(words_html(fields, explanation.words, explanation.scores, gold=gold, names=names))
        parts.append(_top_html([(*item, 0) for item in strongest(explanation.words, explanation.scores)]))
        if not compact:
            parts.append(_key(header.target, explanation.scores))
        parts.append(_all_scores(explanation))
    elif isinstance(explanation, Rationale):
        chosen = explanation.selected
        parts.append(words_html(fields, explanation.words, explanation.scores, selected=chosen, gold=gold, names=names))
        share = f"{sum(chosen)} of {len(chosen)} words selected"
        parts.append(f'<p class="sw-top">{share}</p>')
    elif isinstance(explanation, Alignments):
        parts += _alignments(explanation, names, gold)
    elif isinstance(explanation, FreeText):
        parts.append(words_html(fields, names=names, gold=gold))
        sentence = safe(explanation.sentence)
        parts.append(f'<blockquote class="sw-quote" dir="auto">{sentence}</blockquote>')
        if explanation.steps:
            columns, by_label = evolution(explanation)
            parts.append(_matrix(header.labels, columns, by_label, 1.0, [], "probability of each label, word by word"))
            parts.append(f'<p class="sw-top">{safe(settles(explanation))}</p>')
    parts.append(_verdict(explanation))
    parts += [f'<p class="sw-note">{safe(note)}</p>' for note in header.notes]
    parts.append(_details(explanation))
    style = "" if compact else f"<style>{STYLE}</style>"
    return f'<div class="saywhy">{style}{"".join(parts)}</div>'


def _alignments(explanation: Alignments, names: Sequence[str], gold: Sequence[Span]) -> list[str]:
    """The linked sentences (or the texts, where nothing is linked), the table with boxes, and the pairs by number."""
    words, strength = margins(explanation)
    links = links_of(explanation)
    fields = explanation.header.texts + explanation.header.choices
    sentences = links_svg(explanation, gold) or words_html(fields, words, strength, gold=gold, names=names)
    rows, columns = [w.text for w in explanation.premise], [w.text for w in explanation.hypothesis]
    label = "scores of word pairs, premise by hypothesis"
    table = _matrix(rows, columns, explanation.scores, peak(strength), links, label)
    numbered = [(link.text, link.score, link.number) for link in links]
    listed = _top_html([*numbered, *((text, score, 0) for text, score in opposed_pairs(explanation))])
    told = rationale_sentence(explanation)
    return [sentences, table, listed, *([f'<p class="sw-top">{safe(told)}</p>'] if told else [])]


def _hue(number: int) -> str:
    return f"k{(number - 1) % len(COLOURS)}"


def _classes(level: int) -> list[str]:
    if not level:
        return []
    strong = ["st"] if abs(level) >= STRONG else []
    return [f"{'f' if level > 0 else 'a'}{abs(level)}", *strong, *(["ag"] if strong and level < 0 else [])]


def safe(text: str) -> str:
    """Text for an HTML text node or a quoted attribute."""
    return escape(visible(text))


def _headline(header: Header, compact: bool) -> str:
    against = f" against <b>{safe(header.against)}</b>" if header.against else ""
    said = ""
    if header.probabilities and not compact:
        said = f" · model says <b>{safe(header.prediction.label)}</b> ({header.prediction.probability:.2f})"
    return f"<b>{safe(header.method)}</b> for <b>{safe(header.target)}</b>{against}{said}"


def _top_html(items: Sequence[tuple[str, float, int]]) -> str:
    """The strongest by name, with scores, and with numbers where these are above 0."""
    if not items:
        return '<p class="sw-top">No word stands out: all scores are equal to zero or nearly so.</p>'
    listed = " · ".join(
        (f'<span class="sw-n {_hue(n)}">{n}</span> ' if n else "")
        + f"<bdi>{safe(quoted(text))}</bdi>\u00a0{number(score)}"
        for text, score, n in items
    )
    return f'<p class="sw-top">Strongest: {listed}</p>'


def _all_scores(explanation: WordScores) -> str:
    """Every score as text, for those who cannot point at a word; left out where the list would be endless."""
    words, scores = explanation.words, explanation.scores
    if not 0 < len(scores) <= LISTED:
        return ""
    items = [f"<li><bdi>{safe(w.text)}</bdi>\u00a0{number(s)}</li>" for w, s in zip(words, scores, strict=True)]
    return f'<details class="sw-more"><summary>All scores</summary><ol>{"".join(items)}</ol></details>'


def _key(target: str, scores: Sequence[float]) -> str:
    against = ' <span class="a7 st ag">speaks against it</span>' if any(s < 0 for s in scores) else ""
    return f'<p class="sw-key"><span class="f7 st">speaks for {safe(target)}</span>{against}</p>'


def _matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    top: float,
    links: Sequence[Link],
    label: str,
) -> str:
    """A table of coloured cells, links boxed with their numbers; a large one shows its strongest lines and says so."""
    across = [[values[i][j] for i in range(len(rows))] for j in range(len(columns))]
    kept_rows, kept_columns = _strongest_lines(values), _strongest_lines(across)
    head = "".join(f'<th scope="col">{safe(columns[j])}</th>' for j in kept_columns)
    body = []
    numbered: set[int] = set()
    for i in kept_rows:
        cells = []
        for j in kept_columns:
            classes = [c for c in _classes(level_of(values[i][j], top)) if c not in ("st", "ag")]
            own, edges = _boxed(links, i, j)
            inner = f"<b>{own}</b>" if own and own not in numbered else ""
            numbered.add(own)
            classes += edges
            style = f' class="{" ".join(classes)}"' if classes else ""
            title = f"{safe(rows[i])} / {safe(columns[j])}: {number(values[i][j])}"
            cells.append(f'<td{style} title="{title}">{inner}</td>')
        body.append(f'<tr><th scope="row">{safe(rows[i])}</th>{"".join(cells)}</tr>')
    cut = ""
    if len(kept_rows) < len(rows) or len(kept_columns) < len(columns):
        shown = f"{len(kept_rows)} of {len(rows)} rows and {len(kept_columns)} of {len(columns)} columns"
        cut = f'<p class="sw-note">The table shows the strongest {shown}.</p>'
    table = f'<table class="sw-matrix"><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    return f'<div class="sw-scroll" role="region" tabindex="0" aria-label="{safe(label)}">{table}</div>{cut}'


def _boxed(links: Sequence[Link], i: int, j: int) -> tuple[int, list[str]]:
    """The number of the first link whose box a cell lies in (0: none), and classes for its hue and its edges."""
    for link in links:
        if link.box is None:
            continue
        top, bottom, left, right = link.box
        if top <= i <= bottom and left <= j <= right:
            at = (("bt", i == top), ("bb", i == bottom), ("bl", j == left), ("br", j == right))
            return link.number, ["bx", _hue(link.number), *(name for name, there in at if there)]
    return 0, []


def _strongest_lines(values: Sequence[Sequence[float]]) -> list[int]:
    order = sorted(range(len(values)), key=lambda i: -peak(values[i]))
    return sorted(order[:MATRIX_SIDE])


def _verdict(explanation: Explanation) -> str:
    verdict = explanation.verdict
    if verdict is None:
        return ""
    said = "".join(f"<li><bdi>{safe(sentence)}</bdi></li>" for sentence in verdict_sentences(explanation))
    mark = {True: "✓", False: "✗", None: "–"}[verdict.better]
    last = f'<p><b><span aria-hidden="true">{mark} </span>{safe(judgement(explanation))}</b></p>'
    return f'<div class="sw-verdict" role="group" aria-label="check of this explanation"><ul>{said}</ul>{last}</div>'


def _details(explanation: Explanation) -> str:
    header = explanation.header
    facts: dict[str, object] = {
        "explained output": header.output,
        "space": header.space,
        "erasure": header.erasure,
        **{str(k): v for k, v in header.parameters.items()},
        "seed": header.seed,
        "error": getattr(explanation, "error", None),
        "cost": getattr(explanation, "cost", None) or None,
        "erasure of the check": explanation.verdict.erasure if explanation.verdict is not None else None,
        "cost of the check": explanation.verdict.cost if explanation.verdict is not None else None,
        "model": header.model,
        "version": header.version,
    }
    shown = "".join(f"<dt>{safe(k)}</dt><dd>{safe(_fact(v))}</dd>" for k, v in facts.items() if v not in (None, ""))
    return f'<details class="sw-more"><summary>How it was made</summary><dl>{shown}</dl></details>'


def _fact(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{v} {k}" for k, v in value.items())
    return f"{value:.3g}" if isinstance(value, float) else str(value)
