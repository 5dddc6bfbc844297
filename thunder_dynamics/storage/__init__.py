"""How files and folders of ours come to be: whole or not at all, and by one process at a time."""
