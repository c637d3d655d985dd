// Gauges that are read at each scrape. While their source gives no values, they are absent: a stale number would
// mislead.
import { Gauge, type Registry } from 'prom-client';

/** Values with their labels; a null value is left out. */
type GaugeValues = readonly (readonly [labels: Readonly<Record<string, string>>, value: number | null])[];

/**
 * @param options.read gives the source of all values; undefined when it is not available
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
        // A gauge without labels would otherwise show 0.
        if (labelNames.length === 0) this.remove();
        if (source === undefined) return;
        for (const [labels, value] of values(source)) if (value !== null) this.set({ ...labels }, value);
      },
    });
  };
}
