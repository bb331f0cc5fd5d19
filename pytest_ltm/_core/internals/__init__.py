"""Several items set up at once: the one place that touches what pytest keeps private.

pytest has one setup stack and one cached value for each fixture. Two classes replace
them, in an LTM run only: `TreeSetupState` (the live nodes form a tree, not one path)
and `LaneFixtures` (an item's own copies of the fixture definitions). An `ItemContext` swaps,
for each stretch of a body, what pytest keeps one of in the process. What other plugins
wrap around the protocol goes `ProtocolWrappers` each item by itself, and not around what pytest
asks for (`one_by_one`).

`names.yml` lists every private name of others that the plugin uses, and why; each is
tested on pytest 8.0 to 9.2.
"""
