// The names of samplers for the settings, in a separate file because the samplers are loaded only with tracing.

export const SAMPLER_NAMES = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export type SamplerName = (typeof SAMPLER_NAMES)[number];
