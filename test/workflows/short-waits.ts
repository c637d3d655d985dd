// Endpoints' actors that look at an attempt's record again immediately. The row decides what is due, so that a look too
// many does no harm.
import type { EngineActivities } from './delivery-engine.ts';

/** Milliseconds between two looks, instead of 5 s and more. */
const LOOK = 100;

/** Cuts waits for what a delivery's record brings; those for a probe, a hold's end and a success stay as they are. */
export function shortenWaits(activities: EngineActivities): EngineActivities {
  const { readEndpoint, probeEndpoint, warnOfFailingEndpoint, announceRecovery, operateEndpoint } =
    activities;
  return {
    ...activities,
    readEndpoint: async (...args) => shorten(await readEndpoint(...args)),
    probeEndpoint: async (...args) => shorten(await probeEndpoint(...args)),
    warnOfFailingEndpoint: async (...args) => shorten(await warnOfFailingEndpoint(...args)),
    announceRecovery: async (...args) => shorten(await announceRecovery(...args)),
    operateEndpoint: async (...args) => shorten(await operateEndpoint(...args)),
  };
}

type Standing = Awaited<ReturnType<EngineActivities['readEndpoint']>>;

function shorten(standing: Standing): Standing {
  const { step } = standing;
  if (step.kind !== 'wait' || (step.reason !== 'outcome' && step.reason !== 'release')) return standing;
  return { ...standing, step: { ...step, delayMs: Math.min(step.delayMs, LOOK) } };
}
