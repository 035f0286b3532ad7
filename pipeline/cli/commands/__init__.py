"""The commands: each public function of these modules is one, listed by task in `app.TASKS`.

Those of reports are `numbers`, `behind` and `tables`; what changes or writes
something has a module of its own. What a command needs beyond click is imported when it runs, so
that `magic --help` stays quick.
"""
