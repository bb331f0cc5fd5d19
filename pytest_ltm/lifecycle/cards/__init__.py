"""The card of a memory: what it kept, found and served, by a script that a seed draws.

`script.py` draws what is told and asked, `play.py` plays it on a memory and records what
was served, `figures.py` computes the figures from that record alone, `card.py` is the
file, and `report.py` shows it.
"""
