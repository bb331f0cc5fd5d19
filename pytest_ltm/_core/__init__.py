"""What holds a conversation and writes it down; it knows no feature (docs/architecture.md)."""
