// What the commands of daily work cannot read in openapi.json: how the rows of a resource are named and shown.
import type { Json } from './tenant-api.client.ts';

export type Resource = {
  readonly name: string;
  readonly description: string;
  /** The list in openapi.json. Its operations, and those of a row below it, are the commands. */
  readonly path: string;
  /** The fields that a table shows; the first is the id. */
  readonly columns: readonly [string, ...string[]];
  /** Fields that name a row in words. */
  readonly names: readonly string[];
  /** The list is a feed, which can be of any length: a row needs its whole id. */
  readonly isFeed?: true;
  /** Acts that are a PATCH of the row with this body. */
  readonly patches?: Readonly<Record<string, Json>>;
};

export const RESOURCES: readonly Resource[] = [
  {
    name: 'agent',
    description: 'list, show, suspend, reactivate and delete agents',
    path: '/api/v1/agents',
    columns: ['id', 'name', 'status', 'scopes', 'created_at'],
    names: ['name'],
  },
  {
    name: 'key',
    description: "list, show, deprecate and revoke an agent's keys",
    path: '/api/v1/agents/{agent_id}/keys',
    columns: ['key_id', 'label', 'algorithm', 'state', 'last_used_at', 'created_at', 'fingerprint'],
    names: ['label', 'fingerprint'],
  },
  {
    name: 'webhook',
    description:
      'list, show, pause, resume, test, probe, replay and delete subscriptions, rotate their secrets',
    path: '/api/v1/webhooks',
    columns: [
      'id',
      'url',
      'active',
      'endpoint.state',
      'endpoint.last_error',
      'endpoint.waiting',
      'endpoint.failing_since',
      'event_types',
    ],
    names: ['url', 'description'],
    patches: { pause: { active: false }, resume: { active: true } },
  },
  {
    name: 'delivery',
    description: 'list, show, retry and cancel deliveries',
    path: '/api/v1/deliveries',
    columns: ['id', 'event_type', 'status', 'attempt_count', 'last_error', 'next_attempt_at', 'created_at'],
    names: [],
  },
  {
    name: 'event',
    description: 'list, show, publish and follow events',
    path: '/api/v1/events',
    columns: ['event_id', 'type', 'created_at', 'data'],
    names: [],
    isFeed: true,
  },
  {
    name: 'audit',
    description: 'list and show audit entries; verify the audit log',
    path: '/api/v1/audit-logs',
    columns: ['id', 'occurred_at', 'action', 'outcome', 'reason', 'actor.kind', 'actor.id', 'target.id'],
    names: [],
  },
];
