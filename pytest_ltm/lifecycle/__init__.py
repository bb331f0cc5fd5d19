"""The suite `lifecycle`, which tests a memory store by rules, without conversations.

`plugin.py` registers the suite, `items.py` creates a pytest item per test, `suite.py` lists the tests. A test calls the
store's methods through a `Subject` and records its observations in a `Row` of the matrix.
"""
