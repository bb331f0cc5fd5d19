"""`ltm audit`: finds faults in the contents of a memory by stated rules, each with its evidence."""
