"""Mails, also those that Outlook saved, with the files that they carry."""
