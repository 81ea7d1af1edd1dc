"""Finds the conversations that a review asks for, in order: filters, criteria, the queue."""
