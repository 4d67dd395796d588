"""A published number judged by arithmetic alone: its words are read, its parts held against each other and against limits."""
