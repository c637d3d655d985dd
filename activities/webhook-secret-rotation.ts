// The activities of webhookSecretRotation. Each calls one use case.
import type { SigningSecretService } from '../src/webhooks/subscriptions/signing-secret.service.ts';

export function createWebhookSecretRotationActivities({
  signingSecrets,
}: {
  signingSecrets: Pick<SigningSecretService, 'read' | 'finish'>;
}) {
  return {
    readSecretRotation: signingSecrets.read,
    /** Makes the new secret the only one, because the overlap has ended. */
    finishSecretRotation: signingSecrets.finish,
  };
}

export type WebhookSecretRotationActivities = ReturnType<typeof createWebhookSecretRotationActivities>;
