// The delivery engine with the actors of endpoints: what a test asks of them.
import type { EndpointRecoveryResult, EndpointRecoveryState } from '../../workflows/endpoint-recovery.ts';
import { createEngine, type EngineSurroundings, eventually } from './delivery-engine.ts';

export type EndpointEngine = Awaited<ReturnType<typeof createEndpointEngine>>;

export type EndpointColumns = {
  state: 'open' | 'held' | 'down';
  active: boolean;
  permits: number | null;
  failures_in_a_row: number;
  failing_since: Date | null;
  hold_until: Date | null;
  probe_at: Date | null;
  watched: boolean;
  warned: number;
  epoch: number;
};

export async function createEndpointEngine(surroundings: EngineSurroundings = {}) {
  const engine = await createEngine(surroundings);
  const { database, context } = engine;
  const actor = (id: string) => engine.entity('endpointRecovery', id);
  const stateOf = (id: string) =>
    actor(id)
      .query<EndpointRecoveryState | null>('state')
      .catch(() => null);

  return {
    ...engine,
    actor,
    stateOf,

    endpoint: async (id: string): Promise<EndpointColumns> => {
      const { rows } = await database.query<EndpointColumns>(
        'SELECT * FROM endpoints WHERE subscription_id = $1',
        [id],
      );
      if (rows[0] === undefined) throw new Error(`no endpoint ${id}`);
      return rows[0];
    },

    /** Waits for the end of the actor. @throws with what it is about, where it does not end */
    endOf: async (id: string): Promise<EndpointRecoveryResult> => {
      const isOver = async () => (await actor(id).describe()).status.name !== 'RUNNING';
      await eventually(isOver, 'the end of the actor').catch(async (error) => {
        const { rows } = await database.query('SELECT * FROM deliveries WHERE subscription_id = $1', [id]);
        const about = { actor: await stateOf(id), deliveries: rows, outbox: await engine.outbox() };
        throw new Error(`${error}: ${JSON.stringify(about)}`);
      });
      return actor(id).result();
    },

    /** Waits until the actor waits for this. */
    waitsFor: (id: string, reason: EndpointRecoveryState['waitsFor']) =>
      eventually(async () => {
        const state = await stateOf(id);
        return state?.waitsFor === reason && state;
      }, `the actor to wait for ${reason}`),

    /** How many of the subscription's deliveries have which status. */
    counts: async (id: string): Promise<Record<string, number>> => {
      const { rows } = await database.query<{ status: string; count: number }>(
        'SELECT status, count(*)::int AS count FROM deliveries WHERE subscription_id = $1 GROUP BY status',
        [id],
      );
      return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
    },

    /** Events of the service itself, by type, the oldest first. */
    eventsOf: async (type: string): Promise<Record<string, unknown>[]> => {
      const { rows } = await database.query<{ body: Buffer }>(
        'SELECT body FROM events WHERE tenant_id = $1 AND type = $2 ORDER BY id',
        [context.tenant.id, type],
      );
      return rows.map(({ body }) => JSON.parse(body.toString()).data);
    },

    auditOf: async (
      action: string,
    ): Promise<{ actor_kind: string; actor_id: string | null; data: unknown }[]> => {
      const { rows } = await database.query<{ actor_kind: string; actor_id: string | null; data: unknown }>(
        'SELECT actor_kind, actor_id, data FROM audit_log WHERE tenant_id = $1 AND action = $2 ORDER BY id',
        [context.tenant.id, action],
      );
      return rows;
    },
  };
}
