// Examples of subscriptions for openapi.json.

export const SUBSCRIPTIONS = {
  types: {
    summary: 'Two event types',
    value: {
      url: 'https://hooks.example.com/countersign',
      event_types: ['orders.order.placed', 'auth.login.failure'],
    },
  },
  cloudevents: {
    summary: 'As CloudEvents',
    value: {
      url: 'https://events.example.com/inbox',
      event_types: ['orders.order.placed'],
      envelope: 'cloudevents-structured',
    },
  },
  audit: {
    summary: 'Everything, with delays of its own and a header for the gateway in front of the receiver',
    value: {
      url: 'https://audit.example.com/events',
      event_types: ['*'],
      sink: 'audit',
      retry_policy: { delays_seconds: [5, 60, 600, 3600] },
      headers: { authorization: 'Basic Z2F0ZXdheTpwYXNz' },
    },
  },
} as const;

export const TESTS = {
  plain: { summary: 'An event webhook.test', value: {} },
  typed: { summary: 'The example of a type', value: { event_type: 'wallet.tx.signed' } },
} as const;
