// The ports on which the processes of one machine serve their metrics. Pure.
import type { Config } from '../../platform/config.ts';
import type { RoleName } from './role-part.ts';

/** One process of a role; `index` counts from 0 within the role. With `port` 0 the process serves no metrics. */
export type MetricsPort = { readonly role: RoleName; readonly index: number; readonly port: number };

/** @returns the ports of the workers, counted up from `metricsPort`, then those of the api processes */
export function metricsPorts({
  metricsPort,
  workerProcesses,
  apiProcesses,
}: Pick<Config, 'metricsPort' | 'workerProcesses' | 'apiProcesses'>): MetricsPort[] {
  const counted = (role: RoleName, count: number) =>
    Array.from({ length: count }, (_, index) => ({ role, index }));
  return [...counted('worker', workerProcesses), ...counted('api', apiProcesses)].map((part, position) => ({
    ...part,
    port: metricsPort === 0 ? 0 : metricsPort + position,
  }));
}
