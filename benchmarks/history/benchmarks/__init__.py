"""What asv measures of each commit. Only what users have is called, so that commits of other times can be measured."""
