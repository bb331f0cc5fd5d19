"""The idea itself: scenarios speak and wait in one conversation; a scheduler decides, one loop acts, results follow."""
