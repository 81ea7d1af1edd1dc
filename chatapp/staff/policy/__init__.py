"""What reviewers may read of what people write, as an administrator sets it."""
