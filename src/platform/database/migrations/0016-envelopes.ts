// The form in which a subscription's deliveries carry their events; by default the service's own.

export const envelopes = `
ALTER TABLE subscriptions ADD COLUMN envelope text NOT NULL DEFAULT 'plain'
  CHECK (envelope IN ('plain', 'cloudevents-structured', 'cloudevents-binary'));
`;
