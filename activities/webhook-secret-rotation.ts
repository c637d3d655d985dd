// The activities of webhookSecretRotation. Each calls one use case.
import type {
  SecretName,
  SecretStanding,
  SigningSecretService,
} from '../src/webhooks/subscriptions/signing-secret.service.ts';

export function createWebhookSecretRotationActivities({
  signingSecrets,
}: {
  signingSecrets: Pick<SigningSecretService, 'read' | 'finish'>;
}) {
  return {
    readSecretRotation: (name: SecretName): Promise<SecretStanding> => signingSecrets.read(name),

    /** Makes the new secret the only one, because the overlap has ended. */
    finishSecretRotation: (name: SecretName): Promise<SecretStanding> => signingSecrets.finish(name),
  };
}

export type WebhookSecretRotationActivities = ReturnType<typeof createWebhookSecretRotationActivities>;
