"""What a run costs: prices, and the budget that all its conversations share."""
