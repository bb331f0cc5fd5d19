"""Converters: the files of other benchmarks, and chats as people download them, as histories."""
