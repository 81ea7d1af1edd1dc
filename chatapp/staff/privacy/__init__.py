"""What a person is told of who reads what they write, and all of it to take along."""
