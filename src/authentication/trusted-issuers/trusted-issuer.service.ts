// Manages the issuers whose users' tokens a tenant accepts. It accepts only public keys, and only addresses to which
// the service may send requests.

import { succeeded } from '../../audit/audit.ts';
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
import { isIssuer } from '../users/subject.ts';
import { checkKeySource } from './key-source.node.ts';
import * as store from './trusted-issuer.store.ts';
import { chooseKeySource, type KeySourceInput, type TrustedIssuer } from './trusted-issuer.ts';

export type { TrustedIssuer } from './trusted-issuer.ts';

export type NewTrustedIssuer = KeySourceInput & Pick<TrustedIssuer, 'issuer' | 'audiences'>;

/** Only the given fields are changed. `issuer` must equal the stored issuer. */
export type TrustedIssuerPatch = Given<NewTrustedIssuer>;

export type TrustedIssuerNeeds = {
  database: Pick<Database, 'transaction' | 'query' | 'model'>;
  records: Pick<RecordService, 'write'>;
  /** Networks with private addresses in which a key set's address may be. */
  admittedNetworks: readonly Network[];
};

/** Manages the trusted issuers of a tenant. Source: RFC 8693, RFC 7517, RFC 8414 §2. */
export class TrustedIssuerService extends Service<TrustedIssuerNeeds> {
  /**
   * Adds a trusted issuer.
   * @throws ServiceError `invalid_request` naming the field: an issuer that is not an https URL or is the tenant
   * itself, no source of keys or two sources, an address that is not allowed, an invalid key; `conflict` when the
   * issuer is already trusted
   */
  create = (context: RequestContext, input: NewTrustedIssuer): Promise<TrustedIssuer> =>
    this.needs.database.transaction(context, async (transaction) => {
      const { tenant } = context;
      const { issuer, audiences } = input;
      if (!isIssuer(issuer))
        throw invalidField('body.issuer', 'must be an https URL without credentials, query and fragment');
      if (issuer === tenant.issuerUrl) throw invalidField('body.issuer', "is this tenant's own issuer");
      const source = chooseKeySource(input);
      checkKeySource(source, this.needs.admittedNetworks);
      const row = { id: newId(), tenantId: tenant.id, issuer, ...source, audiences };
      const created = await store.insert(transaction, row);
      await this.#record(transaction, context, 'created', created);
      return created;
    });

  /** Returns a page, newest first. */
  list = (
    context: RequestContext,
    request: PageRequest & { readonly issuer?: string | undefined },
  ): Promise<Page<TrustedIssuer>> =>
    store.list(context.transaction ?? this.needs.database, context.tenant.id, request);

  /**
   * Changes the audiences or the source of keys. A new source replaces the other source. The change applies to every
   * token that is verified after the commit.
   * @throws ServiceError `not_found`, `invalid_request` (also for another `issuer`)
   */
  update = (context: RequestContext, id: string, patch: TrustedIssuerPatch): Promise<TrustedIssuer> =>
    this.needs.database.transaction(context, async (transaction) => {
      const found = orNotFound(await store.lock(transaction, context.tenant.id, id));
      if (patch.issuer !== undefined && patch.issuer !== found.issuer)
        throw invalidField('body.issuer', 'cannot be changed; trust the other issuer beside this one');
      const source = chooseKeySource(patch, found);
      checkKeySource(source, this.needs.admittedNetworks);
      const updated = await store.update(transaction, id, {
        ...source,
        audiences: patch.audiences ?? found.audiences,
      });
      await this.#record(transaction, context, 'updated', updated);
      return updated;
    });

  /** Removes a trusted issuer. After the commit its tokens are refused. @throws ServiceError `not_found` */
  remove = (context: RequestContext, id: string): Promise<void> =>
    this.needs.database.transaction(context, async (transaction) => {
      const found = orNotFound(await store.lock(transaction, context.tenant.id, id));
      await store.remove(transaction, id);
      await this.#record(transaction, context, 'deleted', found);
    });

  /** @throws ServiceError `not_found` */
  get = async (context: RequestContext, id: string): Promise<TrustedIssuer> =>
    orNotFound(await store.find(context.transaction ?? this.needs.database, context.tenant.id, id));

  /** Returns whether the tenant has this issuer. One indexed read. */
  exists = ({ tenant }: RequestContext, id: string): Promise<boolean> =>
    store.exists(this.needs.database, tenant.id, id);

  #record = (
    transaction: Transaction,
    context: RequestContext,
    verb: 'created' | 'updated' | 'deleted',
    { id, issuer, audiences, jwksUri }: TrustedIssuer,
  ) =>
    this.needs.records.write(transaction, context, {
      audit: [
        succeeded(
          `trusted_issuer.${verb}`,
          { type: 'trusted_issuer', id },
          { issuer, audiences, keys: jwksUri === null ? 'inline' : 'fetched' },
        ),
      ],
    });
}

function orNotFound(issuer: TrustedIssuer | undefined): TrustedIssuer {
  if (issuer === undefined)
    throw new ServiceError('not_found', { detail: 'There is no trusted issuer with this id.' });
  return issuer;
}
