"""Memory cards: what a memory kept, found and served when it was tested with a seeded script.

`script.py` draws the script, `play.py` plays it on a memory and records what was served, `figures.py` computes the
figures from that record alone, `card.py` is the file format, and `report.py` renders it.
"""
