"""Text to signature: normalisation, tokens, simhash and sketch."""
