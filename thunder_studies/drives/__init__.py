"""What studies of drives draw and measure."""
