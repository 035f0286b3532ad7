"""The logs of `tests/logs`, by the kind of file that they are in."""

from importlib import import_module


def logs_by_file(name: str) -> dict[str, list[bytes]]:
    """The logs of the format by the name of their files, such as `{}.json`, in which `{}` is a
    number."""
    module = import_module(f"logs.{name}")
    files = getattr(module, "FILE", "{}.json")
    files = [files] * len(module.LOGS) if isinstance(files, str) else files
    logs: dict[str, list[bytes]] = {}
    for file, data in zip(files, module.LOGS, strict=True):
        logs.setdefault(file, []).append(data)
    return logs
