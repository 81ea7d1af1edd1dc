-- What the sums of the ledger should be. `chatapp.models.billing.rollup` lists the columns for the
-- names in braces.

CREATE VIEW chatapp_expecteddailyusage AS
SELECT day, coalesce(user_id, 0) AS person, upstream_name, model, {changes}
FROM (SELECT 1 AS sign, * FROM chatapp_usage) AS changed
WHERE day IS NOT NULL
GROUP BY 1, 2, 3, 4;

CREATE VIEW chatapp_expectedmonthlyusage AS
SELECT
  date_trunc('month', day)::date AS day, coalesce(user_id, 0) AS person, upstream_name, model,
  {changes}
FROM (SELECT 1 AS sign, * FROM chatapp_usage) AS changed
WHERE day IS NOT NULL
GROUP BY 1, 2, 3, 4;
