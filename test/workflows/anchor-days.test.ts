// The daily checks of a week and of months in a minute: when the workflow is about to wait, the database's clock, which
// decides all steps, advances by as much, and the workflow receives a signal.
import { afterEach, describe, expect, it } from 'vitest';
import type { AnchorStanding, CheckedAnchor } from '../../src/identity/anchors/anchor-check.service.ts';
import { readEvents } from '../identity/agents/agent-rooms.ts';
import { type AnchorEngine, createAnchorEngine } from './anchor-engine.ts';
import { eventually } from './delivery-engine.ts';
import { advanceClock, readClock } from './virtual-clock.ts';

const DAY = 24 * 3_600_000;

let engine: AnchorEngine | undefined;
afterEach(async () => {
  await engine?.close();
});

/** @param onWait receives the days that have passed, before each wait */
async function startVirtualEngine(onWait: (days: number) => void = () => undefined): Promise<AnchorEngine> {
  const place: { engine?: AnchorEngine; begun?: number } = {};
  const jump = async (standing: AnchorStanding, { id }: CheckedAnchor): Promise<AnchorStanding> => {
    const { engine: made, begun } = place;
    if (standing.step.kind !== 'wait' || made === undefined || begun === undefined) return standing;
    onWait(((await readClock(made.database)).getTime() - begun) / DAY);
    await advanceClock(made.database, standing.step.delayMs);
    await made.workflow(id).signal('changed');
    return standing;
  };
  const made = await createAnchorEngine({
    virtual: true,
    wrap: (activities) => ({
      ...activities,
      readAnchor: async (anchor) => jump(await activities.readAnchor(anchor), anchor),
      lookForProof: async (anchor) => jump(await activities.lookForProof(anchor), anchor),
    }),
  });
  engine = made;
  place.engine = made;
  place.begun = (await readClock(made.database)).getTime();
  await made.startWorker();
  made.startRunner();
  return made;
}

async function historyLengths({ client }: AnchorEngine, id: string): Promise<number[]> {
  const lengths: number[] = [];
  for await (const run of client.workflow.list({ query: `WorkflowId="anchor/${id}"` }))
    lengths.push(run.historyLength);
  return lengths;
}

describe('in virtual time', () => {
  it('a proof that is never published is looked for during seven days, then the anchor fails', async () => {
    const made = await startVirtualEngine();
    const one = await made.begin('domain_dns');
    await made.toldAll();
    const result = await made.workflow(one.id).result();
    expect(result).toEqual({ status: 'failed', lastOutcome: 'dns:ENOTFOUND' });
    const life = (await readClock(made.database)).getTime() - one.createdAt.getTime();
    expect(life).toBeGreaterThanOrEqual(7 * DAY);
    expect(life).toBeLessThan(7 * DAY + 600_000);
    const looks = made.places.looks(one.value);
    expect(looks).toBeGreaterThan(100);
    expect(looks).toBeLessThan(300);
    const lastLook = (await one.read()).lastCheckedAt?.getTime() ?? 0;
    expect(one.expiresAt.getTime() - lastLook).toBeLessThan(120_000);
    await eventually(async () => (await historyLengths(made, one.id)).length > 1, 'the runs to be listed');
    expect(Math.max(...(await historyLengths(made, one.id)))).toBeLessThan(1_000);
  });

  it('a proof that stays is found each day for months; once gone, the anchor is revoked after three days', async () => {
    let days = 0;
    const made = await startVirtualEngine((now) => {
      days = now;
    });
    const one = await made.begin();
    made.places.publish(one);
    await eventually(() => days >= 62, 'two months', 240_000);
    expect(await one.read()).toMatchObject({ status: 'verified', lastOutcome: 'found' });
    const found = made.places.looks(one.value);
    expect(found).toBeGreaterThanOrEqual(60);
    expect(found).toBeLessThan(150);
    made.places.withdraw(one);
    const result = await made.workflow(one.id).result();
    expect(result).toEqual({ status: 'revoked', lastOutcome: 'http:404' });
    const { revokedAt, missingSince } = await one.read();
    const missing = (revokedAt?.getTime() ?? 0) - (missingSince?.getTime() ?? 0);
    expect(missing).toBeGreaterThanOrEqual(3 * DAY);
    expect(missing).toBeLessThan(3 * DAY + 3_600_000);
    const types = (await readEvents(made.database, made.context.tenant.id))
      .filter(({ data }) => data.anchor_id === one.id)
      .map(({ type }) => type);
    expect(types).toEqual(['verified', 'missing', 'revoked'].map((change) => `admin.agent.anchor.${change}`));
    await eventually(async () => (await historyLengths(made, one.id)).length > 1, 'the runs to be listed');
    expect(Math.max(...(await historyLengths(made, one.id)))).toBeLessThan(1_000);
  });
});
