"""The closest known documents of a batch."""
