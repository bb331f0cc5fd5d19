"""The simulated user: a model that talks to the agent in a person's place, with a goal.

What its model is asked, and how a reply becomes a message, stands in `simulated_user`;
who answers for it, recorded and counted as a judge is, in `user_connection`.
"""
