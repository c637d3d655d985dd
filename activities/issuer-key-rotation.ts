// The activities of issuerKeyRotation: each calls one use case.
import type {
  IssuerName,
  IssuerRotationService,
  IssuerStanding,
} from '../src/authentication/issuer/issuer-rotation.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns the activities of issuerKeyRotation, each safe to repeat */
export function createIssuerKeyRotationActivities({
  issuerRotation,
}: {
  issuerRotation: Pick<IssuerRotationService, 'look' | 'perform' | 'rotateByOperator' | 'revokeByOperator'>;
}) {
  return {
    /** Reads how the tenant's issuer keys stand. */
    readIssuerKeys: (name: IssuerName): Promise<IssuerStanding> => issuerRotation.look(name),

    /** No next key is published: publishes one. */
    publishNextIssuerKey: (name: IssuerName): Promise<IssuerStanding> =>
      issuerRotation.perform(name, 'publish'),

    /** Another key signs: destroys the private half of the one before. */
    retireIssuerKey: (name: IssuerName): Promise<IssuerStanding> => issuerRotation.perform(name, 'retire'),

    /** All tokens that an old key signed have expired: deletes the key. */
    removeIssuerKey: (name: IssuerName): Promise<IssuerStanding> => issuerRotation.perform(name, 'remove'),

    /** An operator rotates the keys now. A refusal is final: it is not tried again. */
    rotateIssuerKeys: (name: IssuerName, reason: string | null): Promise<IssuerStanding> =>
      refuseForGood(() => issuerRotation.rotateByOperator(name, reason ?? undefined)),

    /** An operator revokes a key. A refusal is final: it is not tried again. */
    revokeIssuerKey: (name: IssuerName, kid: string, reason: string): Promise<IssuerStanding> =>
      refuseForGood(() => issuerRotation.revokeByOperator(name, kid, reason)),
  };
}

export type IssuerKeyRotationActivities = ReturnType<typeof createIssuerKeyRotationActivities>;
