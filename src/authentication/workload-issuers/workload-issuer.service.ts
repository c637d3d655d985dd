// Manages the issuers whose assertions stand for a credential of an agent. Who maps an agent needs all of its scopes.

import { succeeded } from '../../audit/audit.ts';
import { allTokensEnded } from '../../events/ended-tokens.ts';
import type { AgentService } from '../../identity/agents/agent.service.ts';
import { checkCredentialGrantor } from '../../identity/keys/credential-grantor.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { Network } from '../../platform/egress/address-rules.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import type { Given } from '../../platform/given.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import { checkKeySource } from '../trusted-issuers/key-source.node.ts';
import { chooseKeySource, type KeySourceInput } from '../trusted-issuers/trusted-issuer.ts';
import { findPatternFault, type WorkloadRule } from './claim-rules.ts';
import * as store from './workload-issuer.store.ts';
import {
  isTrustDomain,
  isWorkloadIssuer,
  narrows,
  needsGrantor,
  type WorkloadIssuer,
} from './workload-issuer.ts';

export type { WorkloadIssuer } from './workload-issuer.ts';

export type NewWorkloadIssuer = KeySourceInput & Pick<WorkloadIssuer, 'issuer' | 'audiences' | 'rules'>;

/** Only the given fields are changed. `issuer` must equal the stored issuer. */
export type WorkloadIssuerPatch = Given<NewWorkloadIssuer>;

export type WorkloadIssuerNeeds = {
  database: Pick<Database, 'transaction' | 'query' | 'model'>;
  records: Pick<RecordService, 'write'>;
  agents: Pick<AgentService, 'holdIfThere' | 'holdAny'>;
  /** Ends the tokens that an issuer's assertions got; its id is their `client_id`. */
  revocations: Pick<RevocationService, 'admitPrincipal' | 'endPrincipal'>;
  /** Networks with private addresses in which a key set's address may be. */
  admittedNetworks: readonly Network[];
};

/** Manages the workload issuers of a tenant (RFC 7523, RFC 7517). */
export class WorkloadIssuerService extends Service<WorkloadIssuerNeeds> {
  /**
   * Adds a workload issuer.
   * @throws ServiceError `invalid_request` naming the field: an issuer that is neither an https URL nor a trust
   *   domain,
   * or is the tenant itself, no source of keys or two, an address that is not allowed, an invalid key, a rule with an
   * unknown agent or a pattern that fits too much; `insufficient_scope` when the principal lacks a scope of an agent;
   * `conflict` when the issuer is already trusted
   */
  create = (context: RequestContext, input: NewWorkloadIssuer): Promise<WorkloadIssuer> =>
    this.needs.database.transaction(context, async (transaction) => {
      const { tenant } = context;
      const { issuer, audiences, rules } = input;
      if (!isWorkloadIssuer(issuer))
        throw invalidField(
          'body.issuer',
          'must be an https URL without credentials, query and fragment, or spiffe://<trust domain>',
        );
      if (issuer === tenant.issuerUrl) throw invalidField('body.issuer', "is this tenant's own issuer");
      const source = chooseKeySource(input);
      checkKeySource(source, this.needs.admittedNetworks);
      checkRules(issuer, rules);
      await this.#checkGranted(transaction, context, rules);
      const row = { id: newId(), tenantId: tenant.id, issuer, ...source, audiences, rules };
      const created = await store.insert(transaction, row);
      await this.#record(transaction, context, 'created', created);
      return created;
    });

  /** Returns a page, newest first. */
  list = (
    context: RequestContext,
    request: PageRequest & { readonly issuer?: string | undefined },
  ): Promise<Page<WorkloadIssuer>> =>
    store.list(context.transaction ?? this.needs.database, context.tenant.id, request);

  /**
   * Changes keys, audiences or rules. A change that takes something away ends the tokens that the issuer's assertions
   * have got, and emits `auth.token.revoked`.
   * @throws ServiceError `not_found`; `invalid_request` as `create`, and for another `issuer`; `insufficient_scope`
   *   when the change needs a grantor, and the principal lacks a scope of an agent that a rule names before or after
   *   it
   */
  update = (context: RequestContext, id: string, patch: WorkloadIssuerPatch): Promise<WorkloadIssuer> =>
    this.needs.database.transaction(context, async (transaction) => {
      const { tenant } = context;
      const found = orNotFound(await store.lock(transaction, tenant.id, id));
      if (patch.issuer !== undefined && patch.issuer !== found.issuer)
        throw invalidField('body.issuer', 'cannot be changed; trust the other issuer beside this one');
      const after = {
        ...chooseKeySource(patch, found),
        audiences: patch.audiences ?? found.audiences,
        rules: patch.rules ?? found.rules,
      };
      checkKeySource(after, this.needs.admittedNetworks);
      checkRules(found.issuer, after.rules);
      if (needsGrantor(found, after))
        await this.#checkGranted(transaction, context, after.rules, found.rules);
      const updated = await store.update(transaction, id, after);
      const ends = narrows(found, after) ? 'now' : undefined;
      await this.#record(transaction, context, 'updated', updated, ends);
      return updated;
    });

  /**
   * Removes a workload issuer. After the commit its tokens have ended. Emits `auth.token.revoked`.
   * @throws ServiceError `not_found`
   */
  remove = (context: RequestContext, id: string): Promise<void> =>
    this.needs.database.transaction(context, async (transaction) => {
      const found = orNotFound(await store.lock(transaction, context.tenant.id, id));
      await store.remove(transaction, id);
      await this.#record(transaction, context, 'deleted', found, 'ever');
    });

  /** @throws ServiceError `not_found` */
  get = async (context: RequestContext, id: string): Promise<WorkloadIssuer> =>
    orNotFound(await store.find(context.transaction ?? this.needs.database, context.tenant.id, id));

  /** Returns whether the tenant has this issuer. One indexed read. */
  exists = ({ tenant }: RequestContext, id: string): Promise<boolean> =>
    store.exists(this.needs.database, tenant.id, id);

  /** Records a change, and ends the tokens of the issuer. @param ends those until `now`, or for `ever`; absent: none */
  #record = async (
    transaction: Transaction,
    context: RequestContext,
    verb: 'created' | 'updated' | 'deleted',
    { id, issuer, audiences, jwksUri, rules }: WorkloadIssuer,
    ends?: 'now' | 'ever' | undefined,
  ): Promise<void> => {
    if (ends === 'now') await this.needs.revocations.admitPrincipal(transaction, context.tenant.id, id);
    if (ends === 'ever') await this.needs.revocations.endPrincipal(transaction, context.tenant.id, id);
    const action = `workload_issuer.${verb}`;
    await this.needs.records.write(transaction, context, {
      audit: [
        succeeded(
          action,
          { type: 'workload_issuer', id },
          {
            issuer,
            audiences,
            keys: jwksUri === null ? 'inline' : 'fetched',
            rules: rules.map(({ agentId, claims }) => ({ agent_id: agentId, claims })),
          },
        ),
      ],
      events: ends === undefined ? [] : [allTokensEnded({ kind: 'workload_issuer', id }, ends, action)],
    });
  };

  /**
   * Checks that the caller may put a credential behind the agent of each rule, and keeps the agents until the commit.
   * @param before the rules that are replaced; their agents may be deleted
   */
  #checkGranted = async (
    transaction: Transaction,
    context: RequestContext,
    rules: readonly WorkloadRule[],
    before: readonly WorkloadRule[] = [],
  ): Promise<void> => {
    for (const id of [...new Set(rules.map(({ agentId }) => agentId))].sort()) {
      const agent = await this.needs.agents.holdIfThere(transaction, context, id);
      const index = rules.findIndex(({ agentId }) => agentId === id);
      if (agent === undefined)
        throw invalidField(`body.rules.${index}.agent_id`, 'is no agent of this tenant');
      checkCredentialGrantor(context.principal, agent);
    }
    for (const id of [...new Set(before.map(({ agentId }) => agentId))].sort()) {
      const agent = await this.needs.agents.holdAny(transaction, context, id);
      if (agent !== undefined) checkCredentialGrantor(context.principal, agent);
    }
  };
}

/** A rule of a trust domain needs `sub`: the other claims of a JWT-SVID say nothing about the workload. */
function checkRules(issuer: string, rules: readonly WorkloadRule[]): void {
  for (const [index, { claims }] of rules.entries()) {
    const path = `body.rules.${index}.claims`;
    if (isTrustDomain(issuer) && claims.sub === undefined) throw invalidField(path, 'must have sub');
    for (const [name, pattern] of Object.entries(claims)) {
      const fault = findPatternFault(pattern);
      if (fault !== undefined) throw invalidField(`${path}.${name}`, fault);
    }
  }
}

function orNotFound(issuer: WorkloadIssuer | undefined): WorkloadIssuer {
  if (issuer === undefined)
    throw new ServiceError('not_found', { detail: 'There is no workload issuer with this id.' });
  return issuer;
}
