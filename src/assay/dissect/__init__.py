"""What a capture says of a directory server's operations."""
