"""What leaves for other tools: runs as plain rows and frames (`load`), and in the formats of others (`ltm export`)."""
