"""The simulated user: a model with a goal that talks to the agent in place of a person.

`simulated_user` has its prompts, and turns replies into messages; `user_connection`
calls its model, recorded and counted like a judge's.
"""
