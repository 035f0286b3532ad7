"""The logs of `tests/logs`, by the kind of file that they are in."""

from importlib import import_module


def logs_in_files(name: str) -> list[tuple[str, bytes]]:
    """The logs of the format, each with the name of its file, such as `{}.json`; `{}` is a
    number."""
    module = import_module(f"logs.{name}")
    files = getattr(module, "FILE", "{}.json")
    files = [files] * len(module.LOGS) if isinstance(files, str) else files
    return list(zip(files, module.LOGS, strict=True))


def logs_by_file(name: str) -> dict[str, list[bytes]]:
    """The logs of the format by these names."""
    logs: dict[str, list[bytes]] = {}
    for file, data in logs_in_files(name):
        logs.setdefault(file, []).append(data)
    return logs
