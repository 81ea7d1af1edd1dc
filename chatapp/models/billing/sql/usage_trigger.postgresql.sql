-- Sums of the ledger, for one event. The changes of a statement are added up and applied in the
-- order of their key, so that transactions can't deadlock.

CREATE OR REPLACE FUNCTION chatapp_usage_{event}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chatapp_dailyusage AS stored ({key}, {sums})
  SELECT day, coalesce(user_id, 0), upstream_name, model, {changes}
  FROM ({rows}) AS changed
  WHERE day IS NOT NULL
  GROUP BY 1, 2, 3, 4
  ORDER BY 1, 2, 3, 4
  ON CONFLICT ({key}) DO UPDATE SET {additions};

  INSERT INTO chatapp_monthlyusage AS stored ({key}, {sums})
  SELECT date_trunc('month', day)::date, coalesce(user_id, 0), upstream_name, model, {changes}
  FROM ({rows}) AS changed
  WHERE day IS NOT NULL
  GROUP BY 1, 2, 3, 4
  ORDER BY 1, 2, 3, 4
  ON CONFLICT ({key}) DO UPDATE SET {additions};

  IF TG_OP <> 'INSERT' THEN
    DELETE FROM chatapp_dailyusage
    WHERE booked = 0 AND ({key}) IN (
      SELECT day, coalesce(user_id, 0), upstream_name, model FROM old_rows
    );

    DELETE FROM chatapp_monthlyusage
    WHERE booked = 0 AND ({key}) IN (
      SELECT date_trunc('month', day)::date, coalesce(user_id, 0), upstream_name, model
      FROM old_rows
    );
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER chatapp_usage_{event}
AFTER {event} ON chatapp_usage
REFERENCING {tables}
FOR EACH STATEMENT EXECUTE FUNCTION chatapp_usage_{event}();
