// The standing that the served console shows.

const TIME = '2026-01-02T03:04:05.678Z';

export const STANDING = {
  severity: 'warning',
  summary: '1 endpoint is held: 3 deliveries wait there. 16 deliveries have failed for good in 24 hours.',
  ...{ subscriptions: 2, in_trouble: 1, waiting: 3, oldest_waiting_at: TIME },
  states: [
    {
      ...{ state: 'held', severity: 'warning', subscriptions: 1, streams: 0, waiting: 3 },
      ...{ oldest_waiting_at: TIME, oldest_canceled_at: TIME },
    },
  ],
  failed_in_24_hours: {
    ...{ deliveries: 16, groups: 1 },
    largest: [
      {
        ...{
          subscription_id: 'subscription-1',
          url: 'https://receiver.example/hooks',
          active: true,
          answer: 'http:422',
        },
        ...{ severity: 'warning', deliveries: 16, first_at: TIME, last_at: TIME },
      },
    ],
  },
};
