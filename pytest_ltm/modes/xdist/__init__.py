"""Under pytest-xdist, a conversation stays whole on one worker, whatever `--dist` says.

`scheduling.py` decides which worker plays which conversation, `controller.py` and
`worker.py` have the hooks of each side, and `wire.py` their messages. When a worker
dies, `controller.py` knows its reports and the position of the conversation, and
decides how to continue.
"""
