// What the commands of daily work know of each resource: where it is, how its rows are named and shown, what can be
// done.
import type { Column } from '../../platform/command-table.ts';
import type { Json } from './tenant-api.client.ts';

/** A filter or a setting: an option of the command, and the field that it becomes. */
export type Field = {
  readonly flag: string;
  readonly description: string;
  readonly field: string;
  /** `ago`: a duration becomes the time so long ago. */
  readonly kind?: 'ago' | 'number';
};

export type Act = {
  readonly verb: string;
  readonly description: string;
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below the row's own path. */
  readonly path: string;
  readonly body?: Json;
  readonly fields?: readonly Field[];
  /** What is true now, after the row's name. */
  readonly done: string;
};

export type Resource = {
  readonly name: string;
  readonly description: string;
  /** Below the tenant's address. `{agent}` is the id of an agent, which `--agent` names. */
  readonly path: string;
  readonly id: string;
  /** Fields that name a row in words. */
  readonly names: readonly string[];
  /** Whether a row is looked up among the newest; otherwise its whole id is needed. */
  readonly isLookedUp: boolean;
  readonly filters: readonly Field[];
  readonly columns: readonly Column<Json>[];
  readonly acts: readonly Act[];
};

const column = (heading: string, field = heading): Column<Json> => ({ heading, cell: (row) => row[field] });
const id = (field = 'id'): Column<Json> => ({ heading: 'id', cell: (row) => row[field], whole: true });
const part = (heading: string, ...path: readonly string[]): Column<Json> => ({
  heading,
  cell: (row) => path.reduce<unknown>((value, name) => (value as Json | null)?.[name], row),
});

const SINCE: Field = {
  flag: '--since <duration>',
  description: 'of the last 90s, 10m, 12h or 7d',
  field: 'since',
  kind: 'ago',
};
const REASON: Field = { flag: '--reason <text>', description: 'why; kept in the audit log', field: 'reason' };

export const RESOURCES: readonly Resource[] = [
  {
    name: 'agent',
    description: 'list, show, suspend and reactivate agents',
    path: '/api/v1/agents',
    id: 'id',
    names: ['name'],
    isLookedUp: true,
    filters: [
      { flag: '--status <status>', description: 'active or suspended', field: 'status' },
      { flag: '--name <name>', description: 'the whole name', field: 'name' },
      { flag: '--capability <name>', description: 'that declare this capability', field: 'capability' },
      { flag: '--scope <scope>', description: 'that may ask for this scope', field: 'scope' },
    ],
    columns: [id(), column('name'), column('status'), column('scopes'), column('created', 'created_at')],
    acts: [
      {
        verb: 'suspend',
        description: 'end its tokens; it authenticates no more until it is reactivated',
        method: 'PATCH',
        path: '/suspend',
        done: 'is suspended; its tokens have ended',
      },
      {
        verb: 'reactivate',
        description: 'let it authenticate again',
        method: 'PATCH',
        path: '/reactivate',
        done: 'is active',
      },
    ],
  },
  {
    name: 'key',
    description: "list, show and revoke an agent's keys",
    path: '/api/v1/agents/{agent}/keys',
    id: 'key_id',
    names: ['label', 'fingerprint'],
    isLookedUp: true,
    filters: [{ flag: '--state <state>', description: 'active, deprecated or revoked', field: 'state' }],
    columns: [
      id('key_id'),
      column('label'),
      column('algorithm'),
      column('state'),
      column('last used', 'last_used_at'),
      column('created', 'created_at'),
      column('fingerprint'),
    ],
    acts: [
      {
        verb: 'revoke',
        description: 'end the key and the tokens that it has got, for good',
        method: 'POST',
        path: '/revoke',
        fields: [REASON],
        done: 'is revoked; its tokens have ended',
      },
    ],
  },
  {
    name: 'webhook',
    description: 'list, show, pause, resume, test and delete subscriptions, rotate their secrets',
    path: '/api/v1/webhooks',
    id: 'id',
    names: ['url', 'description'],
    isLookedUp: true,
    filters: [],
    columns: [
      id(),
      column('url'),
      column('active'),
      part('endpoint', 'endpoint', 'state'),
      part('waiting', 'endpoint', 'waiting'),
      part('failing since', 'endpoint', 'failing_since'),
      column('types', 'event_types'),
    ],
    acts: [
      {
        verb: 'pause',
        description: 'begin no attempt; its deliveries wait',
        method: 'PUT',
        path: '',
        body: { active: false },
        done: 'is paused; its deliveries wait',
      },
      {
        verb: 'resume',
        description: 'deliver again; the oldest waiting delivery first',
        method: 'PUT',
        path: '',
        body: { active: true },
        done: 'is active',
      },
      {
        verb: 'test',
        description: 'send it an example, marked as a test',
        method: 'POST',
        path: '/test',
        fields: [
          {
            flag: '--type <type>',
            description: 'a type of the catalogue; webhook.test unless given',
            field: 'event_type',
          },
        ],
        done: 'gets a test',
      },
      {
        verb: 'rotate-secret',
        description: 'make a new secret; both sign until the overlap ends',
        method: 'POST',
        path: '/secret/rotate',
        fields: [
          {
            flag: '--overlap-seconds <number>',
            description: '86400 unless given; 0 for a secret that somebody else knows',
            field: 'overlap_seconds',
            kind: 'number',
          },
        ],
        done: 'has a new secret, shown this once',
      },
      {
        verb: 'delete',
        description: 'end the subscription and its unfinished deliveries',
        method: 'DELETE',
        path: '',
        done: 'is deleted',
      },
    ],
  },
  {
    name: 'delivery',
    description: 'list, show, retry and cancel deliveries',
    path: '/api/v1/deliveries',
    id: 'id',
    names: [],
    isLookedUp: true,
    filters: [
      {
        flag: '--status <status>',
        description: 'pending, retrying, held, delivered, failed or canceled',
        field: 'status',
      },
      { flag: '--type <type>', description: 'the whole event type', field: 'event_type' },
      { flag: '--event <id>', description: 'of this event', field: 'event_id' },
      { flag: '--webhook <id>', description: 'of this subscription', field: 'subscription_id' },
      SINCE,
    ],
    columns: [
      id(),
      column('event type', 'event_type'),
      column('status'),
      column('attempts', 'attempt_count'),
      column('last error', 'last_error'),
      column('next attempt', 'next_attempt_at'),
      column('created', 'created_at'),
    ],
    acts: [
      {
        verb: 'retry',
        description: 'attempt it now; one that has ended begins anew',
        method: 'POST',
        path: '/retry',
        done: 'is attempted now',
      },
      {
        verb: 'cancel',
        description: 'begin no further attempt, for good',
        method: 'POST',
        path: '/cancel',
        done: 'is canceled',
      },
    ],
  },
  {
    name: 'event',
    description: 'list, show, publish and follow events',
    path: '/api/v1/events',
    id: 'event_id',
    names: [],
    isLookedUp: false,
    filters: [
      { flag: '--type <type>', description: 'an event type, or a pattern such as orders.*', field: 'type' },
      { ...SINCE, description: `${SINCE.description}; 1h unless given` },
    ],
    columns: [
      { heading: 'id', cell: (row) => row.event_id, whole: true },
      column('type'),
      column('accepted', 'created_at'),
      column('data'),
    ],
    acts: [],
  },
  {
    name: 'audit',
    description: 'list and show audit entries; verify the audit log',
    path: '/api/v1/audit-logs',
    id: 'id',
    names: [],
    isLookedUp: true,
    filters: [
      { flag: '--action <action>', description: 'the whole action, such as agent.created', field: 'action' },
      { flag: '--outcome <outcome>', description: 'success or failure', field: 'outcome' },
      { flag: '--actor <id>', description: 'who did it', field: 'actor_id' },
      { flag: '--target <id>', description: 'what it was done to', field: 'target_id' },
      { flag: '--request <id>', description: 'within this request', field: 'request_id' },
      SINCE,
    ],
    columns: [
      id(),
      column('when', 'occurred_at'),
      column('action'),
      column('outcome'),
      column('reason'),
      part('actor', 'actor', 'kind'),
      part('actor id', 'actor', 'id'),
      part('target', 'target', 'id'),
    ],
    acts: [],
  },
];
