-- SQLite has one writer at a time, so the maximum stays valid until the new row has its number.
CREATE TRIGGER IF NOT EXISTS chatapp_message_sequence
AFTER INSERT ON chatapp_message
WHEN NEW.sequence IS NULL
BEGIN
  UPDATE chatapp_message
  SET sequence = 1 + (
    SELECT coalesce(max(sequence), 0)
    FROM chatapp_message
    WHERE conversation_id = NEW.conversation_id
  )
  WHERE id = NEW.id;
END;
