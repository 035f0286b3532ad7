"""The commands: each a module with a function of the same name, listed by task in `app.TASKS`.

What a command needs beyond click is imported when it runs, so that `magic --help` stays quick.
"""
