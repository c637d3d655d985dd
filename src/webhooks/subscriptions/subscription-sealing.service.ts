// Seals and opens a subscription's signing secrets and headers.

import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { type MasterKey, openSecret, sealSecret } from '../../platform/crypto/secret-box.node.ts';
import type { SealedColumn } from '../../platform/database/sealed-column.ts';
import { Service } from '../../platform/service.ts';

const secretContext = (subscriptionId: string) => `subscription-secret:${subscriptionId}`;
const headersContext = (subscriptionId: string) => `subscription-headers:${subscriptionId}`;

/** The next secret may replace the current one during resealing, so its column is resealed first. */
export const SEALED_SUBSCRIPTIONS: readonly SealedColumn[] = (
  [
    ['next_secret_sealed', secretContext],
    ['secret_sealed', secretContext],
    ['headers_sealed', headersContext],
  ] as const
).map(([column, contextOf]) => ({
  table: 'subscriptions',
  column,
  name: 'id',
  contextOf: ({ name }) => contextOf(name),
}));

/** Greatest number of opened values in memory, by context and sealed bytes. Each delivery needs its subscription's. */
const OPENED_KEPT = 1_000;

/** A sealed value is bound to its subscription, so a copy in another row cannot be opened. */
export class SubscriptionSealing extends Service<{ masterKeys: readonly MasterKey[] }> {
  readonly #opened = createBoundedCache<string>({ limit: OPENED_KEPT });

  /** Seals a signing secret for its subscription. */
  sealSecret = (subscriptionId: string, secret: string): Buffer =>
    this.#seal(secretContext(subscriptionId), secret);

  /** @throws SecretBoxError when it was sealed for another subscription, or with an unknown master key */
  openSecret = (subscriptionId: string, sealed: Buffer): string =>
    this.#open(secretContext(subscriptionId), sealed);

  /** Seals the headers that the subscription adds to its deliveries. @returns null for no headers */
  sealHeaders = (subscriptionId: string, headers: Readonly<Record<string, string>>): Buffer | null =>
    Object.keys(headers).length === 0
      ? null
      : this.#seal(headersContext(subscriptionId), JSON.stringify(headers));

  /** @throws SecretBoxError as `openSecret` */
  openHeaders = (subscriptionId: string, sealed: Buffer | null): Record<string, string> =>
    sealed === null ? {} : JSON.parse(this.#open(headersContext(subscriptionId), sealed));

  #seal = (context: string, text: string) =>
    sealSecret(this.needs.masterKeys, context, Buffer.from(text, 'utf8'));

  #open = (context: string, sealed: Buffer) =>
    this.#opened.get(`${context} ${sealed.toString('latin1')}`, () =>
      openSecret(this.needs.masterKeys, context, sealed).toString('utf8'),
    );
}
