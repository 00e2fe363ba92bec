"""How far a run is, saved so that it can go on."""
