"""The optional parts of an installation: what they are called and how to get them."""

from importlib.util import find_spec

from pipeline.errors import MissingExtraError

DISTRIBUTION = "magic-benchmark-pipeline"
"""The name on the package index, where `magic-pipeline` is a different project."""


def install_command(extra: str) -> str:
    """The command that adds an extra to the installation.

    pip takes an installed project as it is, also one from a checkout, and adds what is missing.
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def check_extra(what: str, extra: str, modules: tuple[str, ...]) -> None:
    """Raises MissingExtraError with the command to run if a module of the extra is missing."""
    if missing := [name for name in modules if find_spec(name) is None]:
        command = install_command(extra)
        raise MissingExtraError(f"{what} needs {', '.join(missing)}: run `{command}`")
