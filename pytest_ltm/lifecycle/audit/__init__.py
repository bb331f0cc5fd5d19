"""`ltm audit`: what is wrong with what a memory holds, found by stated rules and shown with its evidence."""
