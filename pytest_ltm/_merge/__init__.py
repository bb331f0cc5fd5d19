"""`merge`: run folders that were played apart (shards, machines, days) become one run."""
