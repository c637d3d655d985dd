// Turns: how many pieces of work run side by side, in all and for one owner, and who is next.
import { describe, expect, it } from 'vitest';
import { createTurns } from '../../../src/platform/database/turns.ts';

/** Work that stays under way until it is let go. */
function createWork() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () =>
    new Promise<void>((resolve) => {
      begun.push(name);
      ends.push(resolve);
    });
  const endOne = async () => {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, work, endOne };
}

describe('turns', () => {
  it('leave a place to other owners, and let the owners take turns', async () => {
    const turns = createTurns({ limit: 3, share: () => 2, patience: 60_000 });
    const { begun, work, endOne } = createWork();
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) =>
      turns.run(name.charAt(0), work(name)),
    );
    expect(begun).toEqual(['a1', 'a2', 'b1']);
    expect(turns.waiting()).toBe(4);
    while (turns.waiting() > 0) await endOne();
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'c1', 'a4']);
    for (let n = 0; n < all.length; n += 1) await endOne();
    await Promise.all(all);
    expect(turns.waiting()).toBe(0);
  });

  it('bound work without an owner by the limit only', async () => {
    const turns = createTurns({ limit: 3, share: () => 1, patience: 60_000 });
    const { begun, work, endOne } = createWork();
    const all = ['1', '2', '3', '4'].map((name) => turns.run(undefined, work(name)));
    expect(begun).toEqual(['1', '2', '3']);
    for (let n = 0; n < all.length; n += 1) await endOne();
    await Promise.all(all);
  });

  it('refuse what would wait behind too much, and what has waited too long', async () => {
    const turns = createTurns({ share: () => 1, queue: 1, patience: 20 });
    const { work, endOne } = createWork();
    const first = turns.run('a', work('a1'));
    const second = turns.run('a', work('a2'));
    const refusal = expect.objectContaining({ code: 'temporarily_unavailable', retryAfterSeconds: 1 });
    await Promise.all(
      [turns.run('a', work('a3')), second].map((refused) => expect(refused).rejects.toEqual(refusal)),
    );
    await endOne();
    await first;
    expect(await turns.run('a', async () => 'served')).toBe('served');
  });

  it('are given back for a wait, and taken again, also when it fails', async () => {
    const turns = createTurns({ share: () => 1, patience: 60_000 });
    const { begun, work, endOne } = createWork();
    let settle: (failed?: Error) => void = () => undefined;
    const answer = new Promise<void>((resolve, reject) => {
      settle = (failed) => (failed === undefined ? resolve() : reject(failed));
    });
    const waiting = turns.run('a', (outsideTurn) =>
      outsideTurn(() => answer).then(
        () => begun.push('after'),
        () => begun.push('after'),
      ),
    );
    const second = turns.run('a', work('second'));
    expect(begun).toEqual(['second']);
    settle(new Error('the other server does not answer'));
    await new Promise((resolve) => setImmediate(resolve));
    expect([begun, turns.waiting()]).toEqual([['second'], 1]);
    await endOne();
    await Promise.all([waiting, second]);
    expect(begun).toEqual(['second', 'after']);
    expect(await turns.run('a', async () => 'free')).toBe('free');
  });

  it('that come back too late are refused, and are nobody’s', async () => {
    const turns = createTurns({ share: () => 1, patience: 20 });
    const { work, endOne } = createWork();
    const waiting = turns.run('a', (outsideTurn) => outsideTurn(async () => 'answer'));
    const second = turns.run('a', work('second'));
    await expect(waiting).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await endOne();
    await second;
    expect(await turns.run('a', async () => 'free')).toBe('free');
  });

  it('given late are not refused any more, and are given back', async () => {
    const turns = createTurns({ share: () => 1, patience: 20, isPaced: true });
    const { work, endOne } = createWork();
    const first = turns.run('a', work('a1'));
    const second = turns.run('a', async () => 'served');
    await new Promise((resolve) => setImmediate(resolve));
    const ended = endOne();
    // The patience ends after the choice and before the beginning.
    const end = performance.now() + 40;
    while (performance.now() < end);
    await Promise.all([ended, first]);
    expect(await second).toBe('served');
    expect(await turns.run('a', async () => 'next')).toBe('next');
  });
});
