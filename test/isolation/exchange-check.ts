// Token exchange between tenants: neither the owner's agents, nor the issuers that he trusts, nor what users delegated
// there count elsewhere.
import { TOKEN_TYPES } from '../../src/authentication/tokens/grant-types.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../src/identity/applications/application.ts';
import { basic } from '../authentication/tokens/accounts.ts';
import { AUDIENCE, ISSUER, newKey } from '../authentication/trusted-issuers/identity-provider.ts';
import type { Answer, Party } from './tenants-server.ts';

/** An agent's id and its own access token. */
type Actor = { readonly agentId: string; readonly access: string };

/** The `Authorization` of a new application of the party that may exchange tokens. */
async function makeExchanger(party: Party): Promise<string> {
  const application = { name: 'Exchanger', scopes: ['openid'], grant_types: [TOKEN_EXCHANGE_GRANT] };
  const { body } = await party.send('POST', '/api/v1/applications', application);
  return basic(body.client_id, body.client_secret);
}

/**
 * Exchanges a user's token that the owner would take.
 * @returns the answers at the stranger's issuer to each mixture of both, and at home
 */
export async function tryExchange(
  { owner, stranger }: { readonly owner: Party; readonly stranger: Party },
  actors: { readonly owner: Actor; readonly stranger: Actor },
): Promise<Record<'untrustedIssuer' | 'foreignActor' | 'foreignDelegation' | 'home', Answer>> {
  const provider = await newKey();
  const trusted = { issuer: ISSUER, jwks: { keys: [provider.jwk] }, audiences: [AUDIENCE] };
  const trust = (party: Party) => party.send('POST', '/api/v1/trusted-issuers', trusted);
  const subject_token = await provider.sign({ sub: 'ada' });
  const exchange = (party: Party, actor: Actor, authorization: string) =>
    party.post(
      '/oauth/token',
      {
        grant_type: TOKEN_EXCHANGE_GRANT,
        subject_token,
        subject_token_type: TOKEN_TYPES.idToken,
        actor_token: actor.access,
        actor_token_type: TOKEN_TYPES.accessToken,
      },
      authorization,
    );
  const [own, other] = [await makeExchanger(owner), await makeExchanger(stranger)];
  await trust(owner);
  const delegation = {
    subject: { issuer: ISSUER, sub: 'ada' },
    agent_id: actors.owner.agentId,
    scopes: ['openid'],
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  };
  await owner.send('POST', '/api/v1/delegations', delegation);
  const untrustedIssuer = await exchange(stranger, actors.stranger, other);
  await trust(stranger);
  return {
    untrustedIssuer,
    foreignActor: await exchange(stranger, actors.owner, other),
    foreignDelegation: await exchange(stranger, actors.stranger, other),
    home: await exchange(owner, actors.owner, own),
  };
}
