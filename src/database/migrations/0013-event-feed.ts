// Events in the order in which a reader can no longer miss one, for the feed.

export const eventFeed = `
-- xid: the writing transaction. In the order (xid, id), behind a horizon of finished transactions, no row can join any more.
-- test: tries a receiver, nothing has happened; not in the feed.
ALTER TABLE events
  ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  ADD COLUMN test boolean NOT NULL DEFAULT false;
DROP INDEX events_by_tenant;
CREATE INDEX events_by_position ON events (tenant_id, xid, id) WHERE NOT test;
`;
