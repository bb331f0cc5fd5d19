"""The record of a conversation: its events, the one fold that reads them, and what is derived from them."""
