"""The life of a memory: the suite `lifecycle`, which tests a store by rules, without a conversation.

`plugin.py` registers the suite, `items.py` makes a pytest item of each test, `suite.py`
lists the tests. A test calls a `Subject`, which hands a store's methods what they take,
and writes what it saw into a `Row` of the matrix.
"""
