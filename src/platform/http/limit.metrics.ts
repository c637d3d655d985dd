// Counts the requests that each limit refused.
import { Counter, type Registry } from 'prom-client';

/** @returns a function to be called with the name of the limit for each refused request */
export function countRefusals({ registry }: { registry: Registry }): (limit: string) => void {
  const counter = new Counter({
    name: 'countersign_rate_limited_total',
    help: 'Requests that a limit refused, by limit.',
    labelNames: ['limit'],
    registers: [registry],
  });
  return (limit) => counter.inc({ limit });
}
