"""Pictures for papers and slides: `content` says what is in each, `drawing` draws it with matplotlib."""
