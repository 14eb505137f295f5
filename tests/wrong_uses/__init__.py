"""Wrong uses of the library and of the command line, each with the line it must produce."""
