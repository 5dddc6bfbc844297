"""Looking at runs: the arm as bodies, in a window, a browser, a video; and exports for PlotJuggler and Foxglove."""
