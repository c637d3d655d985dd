// In which round of the event loop the requests of an owner begin.
import { expect, it } from 'vitest';
import { createRoundStarts } from '../../../src/platform/http/round-starts.ts';

function open() {
  const start = createRoundStarts();
  const begun: string[] = [];
  const send = (owner: string, name: string) => {
    const wait = start(owner);
    if (wait === undefined) begun.push(name);
    else void wait.then(() => begun.push(name));
  };
  /** What has begun since the last call. */
  const take = () => begun.splice(0);
  const round = () => new Promise(setImmediate);
  return { send, take, round };
}

it('of one owner, one request begins in each round, in the order of arrival', async () => {
  const { send, take, round } = open();
  for (const name of ['a', 'b', 'c']) send('loud', name);
  expect(take()).toEqual(['a']);
  await round();
  expect(take()).toEqual(['b']);
  send('loud', 'd');
  expect(take()).toEqual([]);
  await round();
  expect(take()).toEqual(['c']);
  await round();
  expect(take()).toEqual(['d']);
});

it('an owner waits for no other one', async () => {
  const { send, take, round } = open();
  for (let n = 0; n < 20; n += 1) send('loud', `loud ${n}`);
  send('quiet', 'quiet');
  expect(take()).toEqual(['loud 0', 'quiet']);
  await round();
  send('quiet', 'quiet');
  expect(take()).toEqual(['loud 1', 'quiet']);
});

it('an owner whose requests come one a round never waits', async () => {
  const { send, take, round } = open();
  for (const name of ['a', 'b', 'c']) {
    send('quiet', name);
    expect(take()).toEqual([name]);
    await round();
  }
});
