// Gauges that are read at each scrape. A gauge without a value is absent, because an outdated value would mislead.
import { Gauge, type Registry } from 'prom-client';

type GaugeValues = readonly (readonly [labels: Readonly<Record<string, string>>, value: number | null])[];

/**
 * @param options.read returns the source of all values, or undefined when it is unavailable
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
        // prom-client sets a gauge without labels to 0, so it is removed first.
        if (labelNames.length === 0) this.remove();
        if (source === undefined) return;
        for (const [labels, value] of values(source)) if (value !== null) this.set({ ...labels }, value);
      },
    });
  };
}
