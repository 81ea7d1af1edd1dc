CREATE OR REPLACE FUNCTION chatapp_keep_audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  pruned_to bigint := (SELECT coalesce(max(pruned_to), 0) FROM chatapp_audithead);
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    IF NOT EXISTS (SELECT FROM chatapp_auditevent WHERE sequence > pruned_to) THEN
      RETURN NULL;
    END IF;
  ELSIF TG_TABLE_NAME = 'chatapp_auditdetail' THEN
    IF TG_OP = 'DELETE' AND OLD.event_id <= pruned_to THEN
      RETURN OLD;
    ELSIF TG_OP = 'UPDATE' AND NEW.event_id = OLD.event_id AND NEW.content = '' AND NEW.salt = ''
    THEN  -- details may be emptied
      RETURN NEW;
    END IF;
  ELSIF TG_OP = 'DELETE' AND OLD.sequence <= pruned_to THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'The audit log only grows: no % of %', TG_OP, TG_TABLE_NAME;
END $$;

CREATE OR REPLACE TRIGGER chatapp_audit_kept
BEFORE UPDATE OR DELETE ON chatapp_auditevent
FOR EACH ROW EXECUTE FUNCTION chatapp_keep_audit();

CREATE OR REPLACE TRIGGER chatapp_audit_whole
BEFORE TRUNCATE ON chatapp_auditevent
FOR EACH STATEMENT EXECUTE FUNCTION chatapp_keep_audit();

CREATE OR REPLACE TRIGGER chatapp_audit_kept
BEFORE UPDATE OR DELETE ON chatapp_auditdetail
FOR EACH ROW EXECUTE FUNCTION chatapp_keep_audit();

CREATE OR REPLACE TRIGGER chatapp_audit_whole
BEFORE TRUNCATE ON chatapp_auditdetail
FOR EACH STATEMENT EXECUTE FUNCTION chatapp_keep_audit();
