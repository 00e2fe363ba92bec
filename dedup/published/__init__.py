"""What the literature proposes besides the default way; nothing here is loaded unless it is named."""
