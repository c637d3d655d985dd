// The activities of anchorVerification. Each calls one use case.
import type {
  AnchorCheckService,
  AnchorStanding,
  CheckedAnchor,
} from '../src/identity/anchors/anchor-check.service.ts';
import { refuseForGood } from './operator-refusal.ts';

export function createAnchorVerificationActivities({
  anchorChecks,
}: {
  anchorChecks: Pick<AnchorCheckService, 'look' | 'check' | 'fail' | 'requestByOperator'>;
}) {
  return {
    readAnchor: (anchor: CheckedAnchor): Promise<AnchorStanding> => anchorChecks.look(anchor),

    /** Checks the anchor's proof if the check is due, and records the outcome. */
    lookForProof: (anchor: CheckedAnchor): Promise<AnchorStanding> => anchorChecks.check(anchor),

    /** Records that a pending anchor has failed, because its time has ended. */
    failAnchor: (anchor: CheckedAnchor): Promise<AnchorStanding> => anchorChecks.fail(anchor),

    requestLook: (anchor: CheckedAnchor, reason: string | null): Promise<void> =>
      refuseForGood(() => anchorChecks.requestByOperator(anchor, reason ?? undefined)),
  };
}

export type AnchorVerificationActivities = ReturnType<typeof createAnchorVerificationActivities>;
