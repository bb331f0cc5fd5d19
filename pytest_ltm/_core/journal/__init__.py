"""The record of a conversation: its events, the fold that reads them, and the results derived from them."""
