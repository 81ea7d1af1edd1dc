"""The lists of conversations: pages, rows, saved views, bulk actions, exports."""
