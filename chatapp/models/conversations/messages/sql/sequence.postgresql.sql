-- Turns of one conversation run one after another, since each locks the conversation's row first.
CREATE SEQUENCE IF NOT EXISTS chatapp_message_sequence OWNED BY chatapp_message.sequence;

CREATE OR REPLACE FUNCTION chatapp_number_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sequence := nextval('chatapp_message_sequence');
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER chatapp_message_sequence
BEFORE INSERT ON chatapp_message
FOR EACH ROW WHEN (NEW.sequence IS NULL)
EXECUTE FUNCTION chatapp_number_message();
