"""`saywhy serve`: a page and an API for models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saywhy.cli.shared import Labels, TaskName, comma_list
from saywhy.errors import LoadError, OptionError

__all__ = ["serve"]


def serve(
    models: Annotated[
        list[str], typer.Argument(help="Model folders, hub names, or file.py:function; name=FOLDER gives a name.")
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; elsewhere than here a token is asked for.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8000,
    token: Annotated[
        str | None, typer.Option(envvar="SAYWHY_TOKEN", help="What requests must carry; made up where one is needed.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name by which this server may be called, behind a proxy.")
    ] = None,
    data: Annotated[list[str] | None, typer.Option(help="A dataset's name or file to draw examples from.")] = None,
    reports: Annotated[list[Path] | None, typer.Option(help="A folder with reports to browse.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder for results; in the user's cache by default.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep results in memory only.")] = False,
    labels: Labels = None,
    task: TaskName = None,
    threads: Annotated[int | None, typer.Option(help="Threads of a model; as many as there are cores.")] = None,
    max_words: Annotated[int, typer.Option(help="Most words of an input.")] = 2000,
    timeout: Annotated[float, typer.Option(help="Seconds after which a request is given up.")] = 60.0,
    job_timeout: Annotated[float, typer.Option(help="The same for jobs.")] = 3600.0,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve a page on which any text is explained by any method, and the same as an API.

    [bold]saywhy serve runs/sst2[/bold]

    [bold]saywhy serve new=runs/sst2 old=runs/demo --data my.csv --reports demo --port 0[/bold]
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise LoadError(f'the page needs more than saywhy alone: pip install "saywhy[serve]" ({error})') from error
    import secrets
    import webbrowser

    from saywhy.data.home import cache_root
    from saywhy.server import Settings
    from saywhy.server import serve as run
    from saywhy.server.served import load_models
    from saywhy.server.settings import is_loopback

    if threads is not None:
        import torch

        if threads < 1:
            raise OptionError(f"threads must be at least 1, not {threads}")
        torch.set_num_threads(threads)
    for folder in reports or ():
        if not folder.is_dir():
            raise OptionError(f"there is no folder {folder} with reports")
    settings = Settings(
        host=host,
        port=port,
        token=token or (None if is_loopback(host) else secrets.token_urlsafe(24)),
        hosts=tuple(allow_host or ()),
        cache=None if no_cache else cache or cache_root() / "serve",
        data=tuple(data or ()),
        reports=tuple(reports or ()),
        max_words=max_words,
        timeout=timeout,
        job_timeout=job_timeout,
    )

    def ready(url: str) -> None:
        typer.echo(f"saywhy serves {', '.join(loaded)} at {url} (Ctrl+C ends it)")
        if open_page:
            webbrowser.open(url)

    loaded = load_models(models, labels=comma_list(labels) or None, task=task)
    run(loaded, settings, ready)
