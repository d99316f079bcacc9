"""What can be said of the page's files without a browser."""

from __future__ import annotations

from saywhy.server.app import STATIC


def test_no_source_of_the_page_parses_text_as_code() -> None:
    sources = {path.name: path.read_text() for path in sorted(STATIC.glob("*.*"))}
    assert {"index.html", "style.css", "app.js"} <= set(sources)
    for name, source in sources.items():
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "srcdoc",
        ):
            assert word not in source, f"{name} has {word}"
        assert "http://" not in source.replace("http://www.w3.org/2000/svg", ""), name
        assert "https://" not in source, name
    page = sources["index.html"]
    assert " style=" not in page
    assert " onclick=" not in page
    assert page.count("<script") == page.count("<script src=") + page.count('<script type="module" src=')
    wanted = {f"static/{name}" for name in sources if name.endswith(".js") and name not in ("theme.js", "app.js")}
    assert wanted == {part.split('"')[0] for part in page.split('modulepreload" href="')[1:]}
