"""The commands: `pipeline.registry` lists each with its module here, which has its function.

What a command needs beyond click is imported when it runs, so that `magic --help` stays quick.
"""
