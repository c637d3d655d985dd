// Which trace a delivery belongs to.

export const traces = `
-- trace: the traceparent of what published it; null where that was not traced.
ALTER TABLE deliveries ADD COLUMN trace text;
`;
