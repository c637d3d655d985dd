// An entry of the catalogue, and the functions by which entries are written. Pure.
import { z } from 'zod';
import type { JsonObject } from '../event.ts';

/**
 * `data` describes what an event carries; `example` is one. Of a reserved type the schema is exact, of another one a
 * suggestion.
 */
export type EventType = {
  readonly type: string;
  readonly category: string;
  readonly description: string;
  /** Only the service itself emits it. */
  readonly reserved: boolean;
  readonly data: z.ZodType;
  readonly example: JsonObject;
};

type Definition = Omit<EventType, 'category'>;

/**
 * A type that the service emits.
 * @param data exactly what it carries
 * @param example carries every field that there can be
 */
export function emitted<Data extends z.ZodType>(
  type: string,
  description: string,
  data: Data,
  example: z.input<Data> & JsonObject,
): Definition {
  return { type, description, reserved: true, data, example };
}

/**
 * A type for a tenant's other systems to publish. Its fields are not checked: all may be missing, others may be there.
 * @param fields the usual data of such an event
 */
export function published<Fields extends z.ZodRawShape>(
  type: string,
  description: string,
  fields: Fields,
  example: { readonly [Name in keyof Fields]: z.input<Fields[Name]> } & JsonObject,
): Definition {
  return { type, description, reserved: false, data: z.looseObject(fields).partial(), example };
}

/** The entries of one category. Source: Specification, "Event types". */
export function inCategory(category: string, definitions: readonly Definition[]): EventType[] {
  return definitions.map((definition) => ({ category, ...definition }));
}
