// The route of signing secrets. It returns a secret only when it has just generated the secret.
import { z } from 'zod';
import { ok } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { present } from '../../platform/http/present.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import type { SigningSecretService } from './signing-secret.service.ts';
import { OVERLAP } from './signing-secret.ts';
import { generatedSecret, signingSecret, subscriptionParams } from './subscription.schemas.ts';
import type { SubscriptionService } from './subscription.service.ts';

const rotateSecretBody = z
  .strictObject({
    overlap_seconds: z.int().min(OVERLAP.least).max(OVERLAP.most).default(OVERLAP.usual).meta({
      description:
        'For how long deliveries are signed with both secrets. 0 replaces both secrets by the new one now, and ends a rotation that is under way: for a secret that has leaked.',
    }),
    secret: signingSecret.optional(),
  })
  .meta({ id: 'WebhookSecretRotation' });

export const rotatedSecretSchema = z
  .strictObject({
    secret: generatedSecret.optional(),
    overlap_ends_at: z.iso.datetime().meta({
      description:
        'Until then X-Service-Signature-256 is by the old secret and X-Service-Signature-256-Next by the new one; from then on the new one alone signs.',
    }),
  })
  .meta({ id: 'RotatedWebhookSecret' });

/** Source: Specification, "Webhook management", "Signature". */
export function createSigningSecretRoutes({
  signingSecrets,
  subscriptions,
}: {
  signingSecrets: Pick<SigningSecretService, 'rotate'>;
  subscriptions: Pick<SubscriptionService, 'exists'>;
}): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/webhooks/:id/secret/rotate',
      operationId: 'rotateWebhookSecret',
      summary: "Replace a subscription's signing secret",
      description:
        'While the overlap lasts deliveries carry a signature by each secret, so that a receiver can take the new one when it likes. A second rotation during the overlap is refused with 409, unless it has no overlap.',
      tag: 'Webhooks',
      scope: 'webhooks:write',
      idempotent: true,
      secretFields: ['secret'],
      request: { params: subscriptionParams, body: rotateSecretBody },
      exists: (context, { id }) => subscriptions.exists(context, id),
      responses: {
        200: {
          description: 'The new secret, if it was generated, and when it takes over',
          schema: rotatedSecretSchema,
        },
      },
      errors: ['conflict'],
      handler: async ({ context, params, body }) => {
        const rotated = await signingSecrets.rotate(context, params.id, readFields(body));
        return ok(present(rotatedSecretSchema, rotated));
      },
    }),
  ];
}
