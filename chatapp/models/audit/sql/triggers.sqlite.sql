CREATE TRIGGER IF NOT EXISTS chatapp_auditevent_changed
BEFORE UPDATE ON chatapp_auditevent
BEGIN
  SELECT RAISE(ABORT, 'The audit log only grows');
END;

CREATE TRIGGER IF NOT EXISTS chatapp_auditevent_deleted
BEFORE DELETE ON chatapp_auditevent
WHEN OLD.sequence > (SELECT coalesce(max(pruned_to), 0) FROM chatapp_audithead)
BEGIN
  SELECT RAISE(ABORT, 'The audit log only grows');
END;

-- REPLACE deletes a row without firing the trigger above.
CREATE TRIGGER IF NOT EXISTS chatapp_auditevent_replaced
BEFORE INSERT ON chatapp_auditevent
WHEN EXISTS (SELECT 1 FROM chatapp_auditevent WHERE sequence = NEW.sequence)
BEGIN
  SELECT RAISE(ABORT, 'The audit log only grows');
END;

-- Details may be emptied.
CREATE TRIGGER IF NOT EXISTS chatapp_auditdetail_changed
BEFORE UPDATE ON chatapp_auditdetail
WHEN NOT (NEW.event_id = OLD.event_id AND NEW.content = '' AND NEW.salt = '')
BEGIN
  SELECT RAISE(ABORT, 'The audit log only grows');
END;

CREATE TRIGGER IF NOT EXISTS chatapp_auditdetail_deleted
BEFORE DELETE ON chatapp_auditdetail
WHEN OLD.event_id > (SELECT coalesce(max(pruned_to), 0) FROM chatapp_audithead)
BEGIN
  SELECT RAISE(ABORT, 'The audit log only grows');
END;

CREATE TRIGGER IF NOT EXISTS chatapp_auditdetail_replaced
BEFORE INSERT ON chatapp_auditdetail
WHEN EXISTS (SELECT 1 FROM chatapp_auditdetail WHERE event_id = NEW.event_id)
BEGIN
  SELECT RAISE(ABORT, 'The audit log only grows');
END;
