-- Sums of the ledger, and the views that say what these should be. `chatapp.models.billing.rollup`
-- lists the columns for the names in braces.

-- Triggers insert the key of a row to add it to the sums, or to take it away if the sign is -1.
CREATE VIEW chatapp_usagechange AS SELECT 1 AS sign, * FROM chatapp_usage;

CREATE VIEW chatapp_expecteddailyusage AS
SELECT day, coalesce(user_id, 0) AS person, upstream_name, model, {changes}
FROM chatapp_usagechange AS changed
WHERE day IS NOT NULL
GROUP BY 1, 2, 3, 4;

CREATE VIEW chatapp_expectedmonthlyusage AS
SELECT
  date(day, 'start of month') AS day, coalesce(user_id, 0) AS person, upstream_name, model,
  {changes}
FROM chatapp_usagechange AS changed
WHERE day IS NOT NULL
GROUP BY 1, 2, 3, 4;

CREATE TRIGGER chatapp_usage_change
INSTEAD OF INSERT ON chatapp_usagechange
BEGIN
  INSERT INTO chatapp_dailyusage ({key}, {sums})
  SELECT day, coalesce(user_id, 0), upstream_name, model, {changes}
  FROM (SELECT NEW.sign AS sign, * FROM chatapp_usage WHERE message_id = NEW.message_id) AS changed
  WHERE day IS NOT NULL
  GROUP BY message_id  -- the one row, without sorting
  ON CONFLICT ({key}) DO UPDATE SET {additions};

  INSERT INTO chatapp_monthlyusage ({key}, {sums})
  SELECT date(day, 'start of month'), coalesce(user_id, 0), upstream_name, model, {changes}
  FROM (SELECT NEW.sign AS sign, * FROM chatapp_usage WHERE message_id = NEW.message_id) AS changed
  WHERE day IS NOT NULL
  GROUP BY message_id
  ON CONFLICT ({key}) DO UPDATE SET {additions};

  DELETE FROM chatapp_dailyusage
  WHERE NEW.sign = -1 AND booked = 0 AND ({key}) = (
    SELECT day, coalesce(user_id, 0), upstream_name, model
    FROM chatapp_usage
    WHERE message_id = NEW.message_id
  );

  DELETE FROM chatapp_monthlyusage
  WHERE NEW.sign = -1 AND booked = 0 AND ({key}) = (
    SELECT date(day, 'start of month'), coalesce(user_id, 0), upstream_name, model
    FROM chatapp_usage
    WHERE message_id = NEW.message_id
  );
END;

CREATE TRIGGER chatapp_usage_insert
AFTER INSERT ON chatapp_usage
BEGIN
  INSERT INTO chatapp_usagechange (sign, message_id) VALUES (1, NEW.message_id);
END;

CREATE TRIGGER chatapp_usage_before_update
BEFORE UPDATE ON chatapp_usage
BEGIN
  INSERT INTO chatapp_usagechange (sign, message_id) VALUES (-1, OLD.message_id);
END;

CREATE TRIGGER chatapp_usage_update
AFTER UPDATE ON chatapp_usage
BEGIN
  INSERT INTO chatapp_usagechange (sign, message_id) VALUES (1, NEW.message_id);
END;

CREATE TRIGGER chatapp_usage_delete
BEFORE DELETE ON chatapp_usage
BEGIN
  INSERT INTO chatapp_usagechange (sign, message_id) VALUES (-1, OLD.message_id);
END;
