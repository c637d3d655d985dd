// Decides which traces are recorded, by OpenTelemetry's names of samplers. Source: OpenTelemetry, "Built-in samplers".
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { SamplerName } from './sampler-names.ts';

const followParent = (root: Sampler): Sampler => new ParentBasedSampler({ root });

const SAMPLERS: Readonly<Record<SamplerName, (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => followParent(new AlwaysOnSampler()),
  parentbased_always_off: () => followParent(new AlwaysOffSampler()),
  parentbased_traceidratio: (ratio) => followParent(new TraceIdRatioBasedSampler(ratio)),
};

/** @param ratio of recorded traces, 0 to 1, for the samplers with a ratio */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  return SAMPLERS[name](ratio);
}
