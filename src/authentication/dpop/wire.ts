// Wires proofs of possession.
import type { Platform } from '../../platform/platform.ts';
import { createDpopService } from './dpop.service.ts';
import * as dpopStore from './dpop.store.ts';
import { createProofVerifier } from './dpop-proof.service.ts';

export function wireDpop({ config, database, log, clock }: Platform) {
  return createDpopService({
    database,
    verifier: createProofVerifier(),
    masterKeys: config.masterKeys,
    log,
    now: clock.now,
  });
}

/** Purge of used proofs. Retention runs it. */
export const purgesOfProofs = { 'DPoP proofs': dpopStore.purge };
