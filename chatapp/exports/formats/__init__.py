"""The formats of exports, a module for each. They write the chats of a `Reading` as bytes."""
