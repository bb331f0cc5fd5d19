"""Several items set up at once: the only package that touches pytest's private parts.

pytest has one setup stack and one cached value for each fixture. Two classes replace
them, in an LTM run only: `TreeSetupState` (the live nodes form a tree, not one path)
and `LaneFixtures` (an item's own copies of the fixture definitions). An `ItemContext`
swaps pytest's process-wide state for each stretch of a body. `ProtocolWrappers` runs
other plugins' wrappers of the protocol for each item separately, and `one_by_one` keeps
them off the item that pytest asks for.

`names.yml` lists every private name of other packages that the plugin uses, and why;
each is tested on pytest 8.0 to 9.2.
"""
