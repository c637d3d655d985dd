// Examples of publications and of the feed, for openapi.json.

const ORDER = {
  type: 'orders.order.placed',
  data: { order_id: 'o-1001', total: '12.50' },
  event_id: 'o-1001-placed',
} as const;

export const PUBLICATIONS = {
  one: { summary: 'One event; sent again, it is known by its event_id', value: ORDER },
  many: {
    summary: 'Several events',
    value: [ORDER, { type: 'orders.order.paid', data: { order_id: 'o-1001' } }],
  },
} as const;

export const PUBLISHED = {
  one: {
    summary: 'Accepted, and to be delivered twice',
    value: { event_id: 'o-1001-placed', deliveries: 2 },
  },
  many: {
    summary: 'One accepted, one refused',
    value: {
      results: [
        { event_id: 'o-1001-placed', deliveries: 2 },
        {
          status: 409,
          error: 'event_id_conflict',
          error_description: 'The event id belongs to an event with other content.',
        },
      ],
    },
  },
} as const;

export const FEED = {
  end: {
    summary: 'The last events so far',
    value: {
      data: [
        {
          event_id: 'o-1001-placed',
          type: 'orders.order.placed',
          occurred_at: '2026-05-04T09:30:00.000Z',
          tenant_id: '0199a1b3-38f9-7a0b-86c7-829304152637',
          data: { order_id: 'o-1001', total: '12.50' },
          created_at: '2026-05-04T09:30:00.041Z',
        },
      ],
      next_cursor: 'hoH8F6x2O0x7Aas17hAaW16oJtwV-vVBJHZtbjmM3cK-18AJTN_FWEl6DJ7GB6yI',
      has_more: false,
      read_at: '2026-05-04T09:30:02.512Z',
      complete_until: '2026-05-04T09:30:02.512Z',
    },
  },
} as const;

/** The same as Server-Sent Events, and a second later. */
export const FEED_STREAM = `id: hoH8F6x2O0x7Aas17hAaW16oJtwV-vVBJHZtbjmM3cK-18AJTN_FWEl6DJ7GB6yI
data: {"event_id":"o-1001-placed","type":"orders.order.placed","occurred_at":"2026-05-04T09:30:00.000Z","tenant_id":"0199a1b3-38f9-7a0b-86c7-829304152637","data":{"order_id":"o-1001","total":"12.50"},"created_at":"2026-05-04T09:30:00.041Z"}

event: complete
id: sVOnzZ5FxD2dp7n1098e-kMG3XpVimkxcRUznc4zbH3JFCf5aTkkWt13bfOIeFio
data: {"complete_until":"2026-05-04T09:30:02.512Z"}

event: complete
data: {"complete_until":"2026-05-04T09:30:03.498Z"}

`;
