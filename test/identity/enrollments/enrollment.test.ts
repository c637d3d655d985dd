// When an enrollment token may be used, without any database.
import { describe, expect, it } from 'vitest';
import {
  type EnrollmentToken,
  judgePresented,
  type PresentedToken,
  statusAt,
} from '../../../src/identity/enrollments/enrollment.ts';

const NOW = new Date('2026-01-01T00:00:00.000Z');
const later = (milliseconds: number) => new Date(NOW.getTime() + milliseconds);
const ID = '0192f0c1-2345-7000-8000-000000000001';

const token: EnrollmentToken = {
  id: ID,
  tenantId: ID,
  agentId: ID,
  createdAt: later(-1_000),
  expiresAt: later(1_000),
  usedAt: null,
  keyId: null,
  revokedAt: null,
};
const judge = (changes: Partial<EnrollmentToken>, agent: Partial<PresentedToken['agent']> = {}) =>
  judgePresented({
    token: { ...token, ...changes },
    agent: { status: 'active', isDeleted: false, ...agent },
    now: NOW,
  })?.code;

describe('an enrollment token', () => {
  it.each([
    ['open', {}],
    ['open', { expiresAt: later(1) }],
    ['expired', { expiresAt: NOW }],
    ['used', { usedAt: later(-1), keyId: ID }],
    ['used', { usedAt: later(-1), keyId: ID, expiresAt: later(-1) }],
    ['revoked', { revokedAt: later(-1) }],
    ['revoked', { revokedAt: later(-1), expiresAt: later(-1) }],
  ])('is %s with %j', (status, changes) => {
    expect(statusAt({ ...token, ...changes }, NOW)).toBe(status);
    expect(judge(changes)).toBe(status === 'open' ? undefined : 'invalid_grant');
  });

  it('is judged before its agent, a deletion before a suspension', () => {
    expect(judge({}, { status: 'suspended' })).toBe('policy_denied');
    expect(judge({}, { status: 'suspended', isDeleted: true })).toBe('invalid_grant');
    expect(judge({ expiresAt: NOW }, { status: 'suspended' })).toBe('invalid_grant');
  });
});
