// All headers by which a receiver can tell who sent a delivery: those of each signature that its subscription asks for.
import { DELIVERY_HEADER, EVENT_HEADER } from '../../../packages/receiver/src/delivery-headers.ts';
import { WEBHOOK_V1 } from '../../../packages/receiver/src/suites.ts';
import { type SignedDelivery, signDelivery } from './delivery-signature.node.ts';
import { deliveryToken } from './delivery-token.node.ts';
import { USUAL_SIGNATURES } from './signatures.ts';
import { signStandardWebhook } from './standard-webhook.node.ts';
import type { TenantSigner } from './tenant-signer.node.ts';

/** What is signed, and how. */
export type DeliveryToSign = SignedDelivery & {
  /** Names of `SIGNATURES`. An unknown one is of a later version, which runs beside this one for a while. */
  readonly signatures?: readonly string[] | undefined;
  /** Present when a signature needs the tenant's own keys. */
  readonly signer?: TenantSigner | undefined;
  /** Of the receiver. */
  readonly origin: string;
};

/** Signs one attempt. Event type and delivery id are in its headers in any case. */
export function signedHeaders({
  signatures = USUAL_SIGNATURES,
  signer,
  ...delivery
}: DeliveryToSign): Record<string, string> {
  const { secrets, timestamp, deliveryId, eventType, body } = delivery;
  const bySecret = signatures.includes('v1') ? secrets : undefined;
  const keys = signatures.includes('v1a') ? signerOf(signer).keys : [];
  return {
    ...(signatures.includes(WEBHOOK_V1)
      ? signDelivery(delivery)
      : { [EVENT_HEADER]: eventType, [DELIVERY_HEADER]: deliveryId }),
    ...(bySecret !== undefined || keys.length > 0
      ? signStandardWebhook({ id: deliveryId, timestamp, body, secrets: bySecret, keys })
      : {}),
    ...(signatures.includes('jwt')
      ? { authorization: `Bearer ${deliveryToken(signerOf(signer), delivery)}` }
      : {}),
  };
}

function signerOf(signer: TenantSigner | undefined): TenantSigner {
  if (signer === undefined)
    throw new Error('a delivery has to be signed with keys of its tenant, and has none');
  return signer;
}
