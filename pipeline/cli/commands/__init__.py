"""The commands: each a module with a function of the same name. There is no list of them to keep.

What a command needs beyond typer is imported when it runs, so that `magic --help` stays quick.
"""
