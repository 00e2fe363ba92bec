"""How an interrupted run is gone on with."""
