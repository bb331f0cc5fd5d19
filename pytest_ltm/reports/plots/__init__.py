"""Plots for papers and slides: `plot_data` computes the contents, `drawing` draws them in matplotlib."""
