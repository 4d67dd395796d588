"""A chain of parts with nominal speeds: what saturates first, what an upgrade buys, what remains when a part fails."""
