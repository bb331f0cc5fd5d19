"""Converters: turn files of other benchmarks and downloaded chats into histories."""
