// The activities of webhookSecretRotation: each calls one use case.
import type {
  SecretName,
  SecretStanding,
  SigningSecretService,
} from '../src/webhooks/subscriptions/signing-secret.service.ts';

/** @returns the activities of webhookSecretRotation, each safe to repeat */
export function createWebhookSecretRotationActivities({
  signingSecrets,
}: {
  signingSecrets: Pick<SigningSecretService, 'read' | 'finish'>;
}) {
  return {
    /** Reads how the secrets of a subscription stand. */
    readSecretRotation: (name: SecretName): Promise<SecretStanding> => signingSecrets.read(name),

    /** The overlap is over: records that the new secret has taken over. */
    finishSecretRotation: (name: SecretName): Promise<SecretStanding> => signingSecrets.finish(name),
  };
}

export type WebhookSecretRotationActivities = ReturnType<typeof createWebhookSecretRotationActivities>;
