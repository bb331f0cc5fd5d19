"""Memory systems under test: what a system keeps of a conversation, and what a reply is shown of it."""
