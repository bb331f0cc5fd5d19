"""The simulated user: a model that talks to the agent in a person's place, with a goal.

Low in the package, because the handle makes it: `_user` (LtmUser, what its model is asked, how a reply becomes a
message). High, because it knows a run: `_connection` (who answers for a user, recorded and counted as a judge is).
"""
