// Issuer keys on the engine of entities, always with a clock that a test can advance. With `virtual` waits are jumped
// over: each is cut to nothing, and the database's clock, which decides all steps, advances by as much.
import {
  createIssuerKeyRotationActivities,
  type IssuerKeyRotationActivities,
} from '../../activities/issuer-key-rotation.ts';
import type { IssuerStanding } from '../../src/authentication/issuer/issuer-rotation.service.ts';
import { newId } from '../../src/platform/database/ids.ts';
import { ENTITY_CHANGED } from '../../src/platform/temporal/names.ts';
import type { IssuerKeysState } from '../../workflows/issuer-key-rotation.ts';
import { createAccounts, provisionTenant, requestTo } from '../authentication/tokens/accounts.ts';
import { createEntityEngine } from './entity-engine.ts';
import { advanceClock } from './virtual-clock.ts';

export type IssuerKeyEngine = Awaited<ReturnType<typeof createIssuerKeyEngine>>;

/** @param options.virtual whether waits are jumped over @param options.lifetime of a key, in seconds */
export async function createIssuerKeyEngine(options: { virtual?: boolean; lifetime?: number } = {}) {
  let waits = 0;
  /** How many more waits may be jumped over. */
  let jumps = options.virtual === true ? Number.POSITIVE_INFINITY : 0;
  const jump = async (tenantId: string, standing: IssuerStanding): Promise<IssuerStanding> => {
    const { step } = standing;
    if (step.kind !== 'wait' || jumps <= 0) return standing;
    jumps -= 1;
    waits += 1;
    await advanceClock(engine.database, step.delayMs);
    // A timer takes a second of the real time, however short it is: most are cut short by a signal.
    if (waits % 20 !== 0) await engine.workflow(tenantId).signal(ENTITY_CHANGED);
    return { ...standing, step: { ...step, delayMs: 1 } };
  };
  const wrap = (activities: IssuerKeyRotationActivities): IssuerKeyRotationActivities => ({
    ...activities,
    readIssuerKeys: async (name) => jump(name.tenantId, await activities.readIssuerKeys(name)),
    publishNextIssuerKey: async (name) => jump(name.tenantId, await activities.publishNextIssuerKey(name)),
    retireIssuerKey: async (name) => jump(name.tenantId, await activities.retireIssuerKey(name)),
    removeIssuerKey: async (name) => jump(name.tenantId, await activities.removeIssuerKey(name)),
  });

  const engine = await createEntityEngine({
    workflow: 'issuerKeyRotation',
    virtual: true,
    wire: (database) => createAccounts(database, { issuerKeyLifetime: options.lifetime ?? 90 * 86_400 }),
    activities: (accounts) => wrap(createIssuerKeyRotationActivities(accounts)),
    describe:
      ({ issuerRotation }) =>
      ({ tenantId }) =>
        issuerRotation.describe({ tenantId }),
  });
  const { services: accounts, database } = engine;

  return {
    ...engine,
    accounts,
    pass: (seconds: number) => advanceClock(database, seconds * 1000),

    /** Lets virtual time stand still from the next reading on. */
    halt: () => {
      jumps = 0;
    },

    /** A tenant with its first key, whose workflow the next command starts. */
    newTenant: async () => requestTo((await provisionTenant(accounts, `t-${newId()}`)).tenant),

    stateOf: (tenantId: string) => engine.stateOf<IssuerKeysState>(tenantId).catch(() => undefined),

    /** Waits until the workflow waits, and knows a wanted state of the keys. */
    stands: (tenantId: string, isWanted: (state: IssuerKeysState) => boolean, what = 'the state') =>
      engine.stands<IssuerKeysState>(tenantId, (state) => state.doing === 'waiting' && isWanted(state), what),
  };
}
