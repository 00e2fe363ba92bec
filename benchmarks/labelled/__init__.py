"""Builds labelled sets from packages: pages of other people, in pairs of which it is known whether they are copies."""
