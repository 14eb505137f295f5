"""Evidence: the paper's claims measured, and the figures that show them."""
