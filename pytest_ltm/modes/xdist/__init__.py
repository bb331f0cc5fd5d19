"""Under pytest-xdist: a conversation stays whole on one worker, whatever `--dist` says.

`scheduling.py` decides which worker plays what, `controller.py` and `worker.py` are the
hooks of either side, `wire.py` is what they send each other. When a worker dies,
`controller.py` knows what it had reported and where the conversation stood, and decides
what becomes of it.
"""
