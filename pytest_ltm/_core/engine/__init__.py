"""The engine: scenarios take turns in one conversation; a scheduler decides, one loop acts, and results follow."""
