// What `countersign listen --feed` asks of the service.
import { describe, expect, it } from 'vitest';
import { listenToFeed } from '../../../src/app/terminal/listening.ts';
import type { TenantApi } from '../../../src/app/terminal/tenant-api.client.ts';

/** Two pages of a service that filters by one `type` alone, as one of before would. */
async function follow(eventTypes: readonly string[]) {
  const asked: URLSearchParams[] = [];
  const shown: string[] = [];
  const call = async (_: string, path: string) => {
    asked.push(new URL(path, 'http://localhost').searchParams);
    const type = asked.length === 1 ? 'orders.placed' : 'other.thing';
    return {
      data: [{ event_id: String(asked.length), type, occurred_at: '', created_at: '', data: {} }],
      next_cursor: `after-${asked.length}`,
      has_more: asked.length === 1,
    };
  };
  await listenToFeed(
    {
      api: { call } as unknown as TenantApi,
      eventTypes,
      forward: undefined,
      signal: new AbortController().signal,
      show: ({ eventType }) => shown.push(eventType),
    },
    { secret: '', follow: false },
  );
  return { asked, shown };
}

describe('listen by the feed', () => {
  it('asks the service for its types in each request', async () => {
    const { asked, shown } = await follow(['orders.*', 'auth.token.revoked']);
    expect(asked.map((query) => query.get('type'))).toEqual(Array(2).fill('orders.*,auth.token.revoked'));
    expect(asked.map((query) => query.get('after'))).toEqual([null, 'after-1']);
    expect(shown).toEqual(['orders.placed']);
  });

  it('asks for everything when there are more types than a request takes', async () => {
    const many = Array.from({ length: 21 }, (_, index) => `shop.sold${index}`);
    const { asked, shown } = await follow([...many, 'other.*']);
    expect(asked.map((query) => query.get('type'))).toEqual([null, null]);
    expect(shown).toEqual(['other.thing']);
  });
});
