// The filters of live subscriptions, a row each, so that the subscriptions of an event are found by its type.

export const subscriptionFilters = `
-- A trigger keeps the rows equal to subscriptions.filters of the subscriptions that are not deleted.
CREATE TABLE subscription_filters (
  tenant_id uuid NOT NULL,
  filter text NOT NULL,
  subscription_id uuid NOT NULL,
  -- A stream may leave out the event's subject.
  is_stream boolean NOT NULL,
  PRIMARY KEY (tenant_id, filter, subscription_id)
);

-- Runs with the rights of the tables' owner: processes of an earlier version write subscriptions before their role gets rights on this
-- table, and no process needs to write it. Temporary tables come last, so that none is taken for it.
CREATE FUNCTION keep_subscription_filters() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM subscription_filters
    WHERE tenant_id = OLD.tenant_id AND filter = ANY (OLD.filters) AND subscription_id = OLD.id;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.deleted_at IS NULL THEN
    INSERT INTO subscription_filters (tenant_id, filter, subscription_id, is_stream)
    SELECT DISTINCT NEW.tenant_id, filter, NEW.id, NEW.stream_audience IS NOT NULL FROM unnest(NEW.filters) AS filter;
  END IF;
  RETURN NULL;
END
$function$;
DO $do$
BEGIN
  EXECUTE format('ALTER FUNCTION keep_subscription_filters SET search_path = %I, pg_temp', current_schema());
END
$do$;
CREATE TRIGGER subscription_filters_kept AFTER INSERT OR DELETE OR UPDATE OF filters, deleted_at ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION keep_subscription_filters();

INSERT INTO subscription_filters (tenant_id, filter, subscription_id, is_stream)
SELECT DISTINCT tenant_id, filter, id, stream_audience IS NOT NULL
FROM subscriptions CROSS JOIN LATERAL unnest(filters) AS filter WHERE deleted_at IS NULL;
`;
