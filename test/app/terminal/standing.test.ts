// `countersign standing`: the interface's sentence and numbers as text and as JSON, and when it ends with 1.
import { afterAll, describe, expect, it } from 'vitest';
import { startService } from './service.ts';

const service = await startService();
afterAll(() => service.close());
const read = async () => (await service.owner.send('GET', '/api/v1/standing')).body;
const change = (text: string, ...values: unknown[]) => service.database.query(text, values);

/** The cells of the table with this head, without the line of the head. */
function rowsOf(lines: readonly string[], head: RegExp): string[][] {
  const at = lines.findIndex((line) => head.test(line));
  const end = lines.indexOf('', at);
  return lines.slice(at + 1, end === -1 ? lines.length : end).map((line) => line.trim().split(/ {2,}/));
}

describe('countersign standing', () => {
  it('is one sentence and success while nothing is to be done', async () => {
    expect(await service.run(['standing'])).toEqual({
      lines: ['Nothing goes out yet: there is no subscription.'],
      told: [],
      code: 0,
    });
  });

  it('has the states and the failures of the interface, and fails when somebody has to look', async () => {
    const urls = ['http://127.0.0.1:9201/down', 'http://127.0.0.1:9202/refused'];
    const types = ['shop.down', 'shop.refused'];
    const ids: string[] = [];
    for (const [n, url] of urls.entries()) {
      const body = { url, event_types: [types[n]], active: false };
      ids.push((await service.owner.send('POST', '/api/v1/webhooks', body)).body.id);
      await service.owner.send('POST', '/api/v1/events', { type: types[n], data: {} });
    }
    const [down, refused] = ids;
    await change('UPDATE endpoints SET active = true WHERE subscription_id = $1', refused);
    await change(
      `UPDATE deliveries SET status = 'failed', completed_at = now(), next_attempt_at = NULL, last_error = 'http:422', last_status_code = 422
       WHERE subscription_id = $1`,
      refused,
    );
    // One refused delivery, and one that waits at a paused endpoint, wake nobody.
    const calm = await service.run(['standing']);
    expect([calm.code, calm.lines[0]]).toEqual([0, (await read()).summary]);
    await change(
      `UPDATE endpoints SET active = true, state = 'down', probe_at = now() + interval '1 hour', failing_since = now() WHERE subscription_id = $1`,
      down,
    );
    const { lines, code, told } = await service.run(['standing']);
    expect([code, told, lines[0]]).toEqual([
      ...[1, [], '1 endpoint is down: 1 delivery waits there. 1 delivery has failed for good in 24 hours.'],
    ]);
    expect(rowsOf(lines, /^STATE +SEVERITY +SUBSCRIPTIONS +WAITING /)).toEqual([
      ['down', 'critical', '1', '1', expect.anything(), expect.anything()],
      ['open', 'none', '1', '0', expect.anything(), expect.anything()],
    ]);
    expect(lines).toContain('Failed for good in 24 hours: 1');
    expect(rowsOf(lines, /^DELIVERIES +ANSWER +URL /)).toEqual([
      ['1', 'http:422', urls[1], expect.anything(), expect.anything(), refused],
    ]);
    const json = await service.run(['standing', '--json']);
    expect([json.code, JSON.parse(json.lines.join(''))]).toEqual([1, await read()]);
  });
});
