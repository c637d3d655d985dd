// Gauges that are read when they are asked for. While their source says nothing they are not there at all: a stale number would be a lie.
import { Gauge, type Registry } from 'prom-client';

/** Values with their labels; one that is null is not told. */
type GaugeValues = readonly (readonly [labels: Readonly<Record<string, string>>, value: number | null])[];

/**
 * @param options.read gives what all values come from; undefined when there is nothing to tell
 * @returns `define`, which registers one gauge
 */
export function createGauges<Source>({
  registry,
  read,
}: {
  registry: Registry;
  read: () => Promise<Source | undefined>;
}) {
  return (
    definition: { readonly name: string; readonly help: string; readonly labelNames?: readonly string[] },
    values: (source: Source) => GaugeValues,
  ): void => {
    const { name, help, labelNames = [] } = definition;
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        const source = await read().catch(() => undefined);
        this.reset();
        // One without labels would otherwise say 0.
        if (labelNames.length === 0) this.remove();
        if (source === undefined) return;
        for (const [labels, value] of values(source)) if (value !== null) this.set({ ...labels }, value);
      },
    });
  };
}
