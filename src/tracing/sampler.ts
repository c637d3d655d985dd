// Which traces are recorded. Source: OpenTelemetry, "Built-in samplers" and "TraceIdRatioBased". Pure.

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

/** Digits at the end of a trace id that decide: random in every version of the format, and as many as a number holds exactly. */
const RANDOM_DIGITS = 13;
const RANDOM_RANGE = 16 ** RANDOM_DIGITS;

/**
 * @param ratio of traces that are recorded, 0 to 1, for the samplers of that name
 * @returns decides by the trace id, and by what was decided of the parent, where there is one
 */
export function createSampler(name: SamplerName, ratio: number) {
  const byId = (traceId: string): boolean => {
    if (name.endsWith('always_on')) return true;
    if (name.endsWith('always_off')) return false;
    return Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) < ratio * RANDOM_RANGE;
  };
  return (traceId: string, parentSampled: boolean | undefined): boolean =>
    name.startsWith('parentbased_') && parentSampled !== undefined ? parentSampled : byId(traceId);
}

export type Sampler = ReturnType<typeof createSampler>;
