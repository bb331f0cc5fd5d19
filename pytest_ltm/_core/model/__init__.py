"""The data everybody shares: what is planned, said, asked and scored. No input or output."""
