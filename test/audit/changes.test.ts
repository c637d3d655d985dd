// What counts as a change, and how the audit log tells it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeChanges, findChanges } from '../../src/audit/changes.ts';

const before = {
  name: 'Robot',
  scopes: ['openid', 'email'],
  metadata: { a: { b: 1 } } as object,
  agentId: null as string | null,
};

describe('a change', () => {
  it.each<[object, object]>([
    [{ name: 'Robot', scopes: ['openid', 'email'], metadata: { a: { b: 1 } }, agentId: null }, {}],
    [{ name: undefined }, {}],
    [{ name: 'Android' }, { name: 'Android' }],
    [{ scopes: ['email', 'openid'] }, { scopes: ['email', 'openid'] }],
    [{ metadata: { a: {} } }, { metadata: { a: {} } }],
    [{ metadata: [] }, { metadata: [] }],
    [{ agentId: 'x', name: 'Robot' }, { agentId: 'x' }],
  ])('%j changes %j', (change, changed) => {
    expect(findChanges(before, change)).toEqual(changed);
  });

  it('is none for what was read, in whatever order its members come', () => {
    const reverse = (value: unknown): unknown =>
      typeof value !== 'object' || value === null || Array.isArray(value)
        ? value
        : Object.fromEntries(
            Object.entries(value)
              .reverse()
              .map(([k, v]) => [k, reverse(v)]),
          );
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (metadata) => {
        fc.pre(!('__proto__' in metadata && Object.hasOwn(metadata, '__proto__')));
        const copy: unknown = JSON.parse(JSON.stringify(metadata));
        expect(
          findChanges({ metadata: JSON.parse(JSON.stringify(metadata)) }, { metadata: reverse(copy) }),
        ).toEqual({});
      }),
    );
  });

  it('is told by the names of the interface, with both values only where they may be told', () => {
    expect(describeChanges(before, { agentId: 'x', metadata: { secret: 1 } }, ['name', 'agentId'])).toEqual({
      fields: ['agent_id', 'metadata'],
      changes: { agent_id: { from: null, to: 'x' } },
    });
  });
});
