// All headers by which a receiver can tell who sent a delivery: those of each signature that its subscription asks for.
import { DELIVERY_HEADER, EVENT_HEADER } from './delivery-headers.ts';
import { type SigningSecrets, signDelivery } from './delivery-signature.node.ts';
import { USUAL_SIGNATURES } from './signatures.ts';
import { signStandardWebhook } from './standard-webhook.node.ts';
import { WEBHOOK_V1 } from './suites.ts';

/** What is signed. `timestamp` is in Unix seconds, `maxAge` in seconds, `body` the raw bytes. */
export type DeliveryToSign = {
  /** Names of `SIGNATURES`. An unknown one is of a later version, which runs beside this one for a while. */
  readonly signatures?: readonly string[] | undefined;
  readonly secrets: SigningSecrets;
  readonly timestamp: number;
  readonly maxAge: number;
  readonly deliveryId: string;
  readonly eventType: string;
  readonly body: Uint8Array;
};

/** Signs one attempt. Event type and delivery id are in its headers in any case. */
export function signedHeaders({
  signatures = USUAL_SIGNATURES,
  ...delivery
}: DeliveryToSign): Record<string, string> {
  const { secrets, timestamp, deliveryId, eventType, body } = delivery;
  return {
    ...(signatures.includes(WEBHOOK_V1)
      ? signDelivery(delivery)
      : { [EVENT_HEADER]: eventType, [DELIVERY_HEADER]: deliveryId }),
    ...(signatures.includes('v1') ? signStandardWebhook({ id: deliveryId, timestamp, body, secrets }) : {}),
  };
}
