// The activities of issuerKeyRotation. Each calls one use case.
import type {
  IssuerName,
  IssuerRotationService,
  IssuerStanding,
} from '../src/authentication/issuer/issuer-rotation.service.ts';
import { refuseForGood } from './operator-refusal.ts';

export function createIssuerKeyRotationActivities({
  issuerRotation,
}: {
  issuerRotation: Pick<IssuerRotationService, 'look' | 'perform' | 'rotateByOperator' | 'revokeByOperator'>;
}) {
  return {
    readIssuerKeys: (name: IssuerName): Promise<IssuerStanding> => issuerRotation.look(name),

    /** Publishes a next key, because none is published. */
    publishNextIssuerKey: (name: IssuerName): Promise<IssuerStanding> =>
      issuerRotation.perform(name, 'publish'),

    /** Destroys the private half of the former key, because another key signs now. */
    retireIssuerKey: (name: IssuerName): Promise<IssuerStanding> => issuerRotation.perform(name, 'retire'),

    /** Deletes an old key, because all tokens that it signed have expired. */
    removeIssuerKey: (name: IssuerName): Promise<IssuerStanding> => issuerRotation.perform(name, 'remove'),

    rotateIssuerKeys: (name: IssuerName, reason: string | null): Promise<IssuerStanding> =>
      refuseForGood(() => issuerRotation.rotateByOperator(name, reason ?? undefined)),

    revokeIssuerKey: (name: IssuerName, kid: string, reason: string): Promise<IssuerStanding> =>
      refuseForGood(() => issuerRotation.revokeByOperator(name, kid, reason)),
  };
}

export type IssuerKeyRotationActivities = ReturnType<typeof createIssuerKeyRotationActivities>;
