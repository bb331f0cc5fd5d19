"""The simulated user: a model that talks to the agent in a person's place, with a goal.

What its model is asked, and how a reply becomes a message, stands in
`_core/model/simulated_user`, because the handle makes it. Here is who answers for a user,
recorded and counted as a judge is: that knows a run.
"""
