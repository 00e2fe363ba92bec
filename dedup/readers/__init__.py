"""Files of all formats to documents."""
