"""The core: holds a conversation and records it; independent of features (docs/architecture.md)."""
