// The activities of issuerKeyRotation. Each calls one use case.
import type {
  IssuerName,
  IssuerRotationService,
} from '../src/authentication/issuer/issuer-rotation.service.ts';
import { forOperator } from './operator-request.ts';

export function createIssuerKeyRotationActivities({
  issuerRotation,
}: {
  issuerRotation: Pick<IssuerRotationService, 'look' | 'perform' | 'rotateByOperator' | 'revokeByOperator'>;
}) {
  return {
    readIssuerKeys: issuerRotation.look,
    /** Publishes a next key, because none is published. */
    publishNextIssuerKey: (name: IssuerName) => issuerRotation.perform(name, 'publish'),
    /** Destroys the private half of the former key, because another key signs now. */
    retireIssuerKey: (name: IssuerName) => issuerRotation.perform(name, 'retire'),
    /** Deletes an old key, because all tokens that it signed have expired. */
    removeIssuerKey: (name: IssuerName) => issuerRotation.perform(name, 'remove'),
    rotateIssuerKeys: (name: IssuerName, reason: string | null) =>
      forOperator(reason, (request) => issuerRotation.rotateByOperator(name, request)),
    revokeIssuerKey: (name: IssuerName, kid: string, reason: string) =>
      forOperator(reason, ({ by }) => issuerRotation.revokeByOperator(name, kid, { by, reason })),
  };
}

export type IssuerKeyRotationActivities = ReturnType<typeof createIssuerKeyRotationActivities>;
