"""What a run came to: figures, statistics, gate."""
