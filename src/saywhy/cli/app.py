"""The application: commands are declared here by name and imported when they run, so that `--help` is fast."""

from __future__ import annotations

import os
import sys
import warnings

import typer

from saywhy import __version__
from saywhy.cli import (
    audit,
    bench,
    check,
    counterfactual,
    data,
    demo,
    evaluate,
    explain,
    listing,
    rate,
    rationalize,
    serve,
    study,
    train,
)
from saywhy.errors import SayWhyError, SayWhyWarning
from saywhy.memory import reuse_memory

__all__ = ["app", "main"]

app = typer.Typer(
    name="saywhy",
    help="Make text models say why, and check that what they say is true.",
    epilog="Start with `saywhy demo`: it needs no data and no downloads. `saywhy list methods` shows what there is.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"saywhy {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks; also as SAYWHY_DEBUG=1."),
) -> None:
    """Options that stand before the command."""
    if debug:
        os.environ["SAYWHY_DEBUG"] = "1"


app.command("demo")(demo.demo)
app.command("explain")(explain.explain)
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("check")(check.check)
app.command("counterfactual")(counterfactual.counterfactual)
app.command("overview")(audit.overview)
app.command("diff")(audit.diff)
app.command("sanity")(audit.sanity)
app.command("study")(study.study)
app.command("rationalize")(rationalize.rationalize)
app.command("serve")(serve.serve)
app.command("list")(listing.list_names)
app.add_typer(data.app, name="data")
app.add_typer(rate.app, name="rate")
app.add_typer(bench.app, name="bench")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. A mistake of the user is one line on stderr and exit code 2."""
    warnings.showwarning = _show_warning
    reuse_memory()
    debug = "--debug" in (sys.argv if arguments is None else arguments) or os.environ.get("SAYWHY_DEBUG") == "1"
    try:
        app(args=arguments, prog_name="saywhy")
    except SayWhyError as error:
        if debug:
            raise
        typer.secho(f"saywhy: {error}", fg="red", err=True)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        typer.secho("saywhy: interrupted", fg="red", err=True)
        raise SystemExit(130) from None
    except BrokenPipeError:
        # Somebody read the first lines and left, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


def _show_warning(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:
    if issubclass(category, SayWhyWarning):
        typer.secho(f"saywhy: note: {message}", fg="yellow", err=True)
