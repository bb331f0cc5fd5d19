"""Whether what an agent called is what a scenario wants."""
