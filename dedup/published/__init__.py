"""Published schemes and look-ups, to be compared with those of this library."""
