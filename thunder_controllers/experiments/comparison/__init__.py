"""A scenario under several laws, gains and seeds, compared."""
