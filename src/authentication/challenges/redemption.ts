// Audit entries and events of a successful verification. They contain no token and no signature.

import { AGENT_CLIENT_ID } from '../../identity/agents/agent.ts';
import type { Happening } from '../../webhooks/intake/record.service.ts';
import type { Challenge, Holder } from './challenge.ts';

const METHOD = 'challenge_response';

/** A verification with a correct signature. `expiresIn` is in seconds. */
export type Success = {
  readonly challenge: Challenge;
  readonly holder: Holder;
  readonly audience: string;
  readonly address: string;
  /** RFC 7638 thumbprint of the key that the tokens are bound to. */
  readonly jkt: string | undefined;
  readonly token: { readonly tokenId: string; readonly expiresIn: number };
};

/** Describes each success. Source: Specification, "Event types". */
export function describeSuccess({ challenge, holder, audience, address, jkt, token }: Success): Happening {
  const scope = challenge.scopes.join(' ');
  const common = commonEntry(holder, token.tokenId);
  const subject = subjectOf(holder);
  const issued = {
    method: METHOD,
    token_id: token.tokenId,
    client_id: AGENT_CLIENT_ID,
    scope,
    audience,
    expires_in: token.expiresIn,
  };
  return {
    audit: [
      { ...common, action: 'auth.login.success', data: { method: METHOD, challenge_id: challenge.id } },
      {
        ...common,
        action: 'auth.token.issued',
        data: { method: METHOD, scope, audience, ...(jkt === undefined ? {} : { jkt }) },
      },
    ],
    events: [
      { type: 'auth.login.success', data: { ...subject, method: METHOD, address } },
      { type: 'auth.token.issued', data: { ...subject, ...issued } },
    ],
  };
}

/** Describes the first success of a key, in addition to `describeSuccess`. It verifies the key. */
export function describeFirstUse({ holder, token }: Success): Happening {
  const { key, agent } = holder;
  const data = { agent_id: agent.id, key_fingerprint: key.fingerprint, method: METHOD };
  const target = { type: 'key', id: key.id };
  return {
    audit: [{ ...commonEntry(holder, token.tokenId), action: 'agent.key.verified', target, data }],
    events: [
      {
        type: 'admin.agent.key.verified',
        data: { ...subjectOf(holder), algorithm: key.algorithm, method: METHOD },
      },
    ],
  };
}

function commonEntry({ key, agent }: Holder, tokenId: string) {
  return {
    outcome: 'success',
    actor: { kind: 'agent', id: agent.id },
    target: { type: 'agent', id: agent.id },
    keyId: key.id,
    tokenId,
  } as const;
}

function subjectOf({ key, agent }: Holder) {
  return { agent_id: agent.id, key_id: key.id, key_fingerprint: key.fingerprint };
}
