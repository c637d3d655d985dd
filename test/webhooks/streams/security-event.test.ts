// What the end of tokens is as a security event: the subject says whose sessions have ended.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/events/event.ts';
import { securityEventOf } from '../../../src/webhooks/streams/security-event.ts';
import { SESSION_REVOKED } from './stream-rooms.ts';

const ISSUER = 'https://id.example';
const GIVEN = { issuer: ISSUER, audience: 'app', streamId: 's', jti: 'd', at: 0 };
const named = (sub: string) => ({ format: 'iss_sub', iss: ISSUER, sub });

const told = (data: JsonObject) => {
  const event = { event_id: 'e', type: 'auth.token.revoked', occurred_at: '2026-05-04T09:30:00.000Z', data };
  return securityEventOf(Buffer.from(JSON.stringify(event)), GIVEN);
};

describe('the end of tokens', () => {
  it.each([
    ['agent', named('p')],
    ['application', { format: 'complex', application: named('p') }],
    ['workload_issuer', { format: 'complex', application: named('p') }],
    ['tenant', { format: 'complex', tenant: { format: 'opaque', id: 'p' } }],
  ])('of a principal that is an %s ends the sessions of this subject', (principal, subject) => {
    const claims = told({ token_type: 'all', sub: 'p', principal, ends: 'now', cause: 'agent.updated' });
    expect(claims?.sub_id).toEqual(subject);
    expect(claims?.events).toMatchObject({
      [SESSION_REVOKED]: { reason_admin: { en: 'Tokens were ended by agent.updated.' } },
    });
  });

  it('by a reuse of a refresh token ends the session of its family', () => {
    const cause = 'security.refresh_token.reuse';
    const claims = told({ token_type: 'refresh_token', family_id: 'f', sub: 'a', cause });
    expect(claims?.sub_id).toEqual({
      format: 'complex',
      user: named('a'),
      session: { format: 'opaque', id: 'f' },
    });
    expect(JSON.stringify(claims?.events)).toContain(cause);
  });
});
