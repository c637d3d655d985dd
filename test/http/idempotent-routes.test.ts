// Which routes may be repeated with an idempotency key: every POST of the table that creates something. The others are here with a reason.
import { describe, expect, it } from 'vitest';
import { ZodObject } from 'zod';
import type { Route } from '../../src/http/route.ts';
import { loadAllRoutes } from './route-table.ts';

const TABLE = await loadAllRoutes();
const POSTS = TABLE.filter(({ method }) => method === 'POST');

/** POSTs that take no idempotency key, because repeating them does no more than the first did. */
const OTHERS: Readonly<Record<string, string>> = {
  issueChallenge:
    'an unused challenge costs nothing, and a kept answer would be a nonce that is handed out twice',
  verifyChallenge: 'the challenge is used up by the first one; a kept answer would hold tokens',
  requestToken:
    'a token is made for each request, a refresh has its own grace; a kept answer would hold tokens',
  introspectToken: 'changes nothing',
  revokeToken: 'ends what has ended',
  enrollAgent: 'the enrollment token is used up by the first one',
  deprecateAgentKey: 'sets the sunset again',
  revokeAgentKey: 'ends what has ended',
  revokeAnchor: 'ends what has ended',
  revokeDelegation: 'ends what has ended',
  cancelKeyRotation: 'ends what has ended',
  cancelDelivery: 'ends what has ended',
  cancelWebhookDelivery: 'ends what has ended',
};

/** POSTs whose answer to a repetition must be the first answer. */
const IDEMPOTENT = [
  'createAgent',
  'registerAgentKey',
  'createAnchor',
  'createEnrollmentToken',
  'createApplication',
  'addApplicationSecret',
  'createWebhook',
  'testWebhook',
  'publishEvents',
  'createDelegation',
  'createTrustedIssuer',
  'beginKeyRotation',
  'rotateOwnKey',
  'retryDelivery',
  'retryWebhookDelivery',
];

const namesOf = (routes: readonly Route[]) => routes.map(({ operationId }) => operationId).sort();

/** Top-level fields of a route's successful answers. */
function answeredFields({ responses }: Route): string[] {
  return Object.values(responses).flatMap(({ schema }) =>
    schema instanceof ZodObject ? Object.keys(schema.shape) : [],
  );
}

describe('an idempotency key', () => {
  it('is accepted by every POST that creates', () => {
    const accepting = POSTS.filter(({ idempotent }) => idempotent === true);
    expect(namesOf(accepting)).toEqual(expect.arrayContaining([...IDEMPOTENT].sort()));
  });

  it('is not needed by the other POSTs, each for a reason', () => {
    const refusing = POSTS.filter(({ idempotent }) => idempotent !== true);
    expect(namesOf(refusing)).toEqual(Object.keys(OTHERS).sort());
  });

  it('belongs to POST: other methods are idempotent by themselves (RFC 9110 §9.2.2)', () => {
    expect(namesOf(TABLE.filter(({ method, idempotent }) => idempotent && method !== 'POST'))).toEqual([]);
  });

  it.each(POSTS.filter(({ idempotent }) => idempotent).map((route) => [route.operationId, route] as const))(
    'of %s keeps no secret',
    (_, route) => {
      const secrets = answeredFields(route).filter((name) => /secret$|token$|password|private/.test(name));
      expect(route.secretFields ?? []).toEqual(secrets);
    },
  );
});
