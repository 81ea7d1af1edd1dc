CREATE TRIGGER IF NOT EXISTS chatapp_searchentry_deleted
AFTER DELETE ON chatapp_searchentry
BEGIN
  DELETE FROM chatapp_words WHERE rowid = OLD.id;
END;
