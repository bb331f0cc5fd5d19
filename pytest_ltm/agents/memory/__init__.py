"""Memory systems under test: what a system keeps of a conversation, and what is shown of it for a reply."""
