// An entry of the catalogue, and the functions that make entries. Pure.
import { z } from 'zod';
import type { JsonObject } from '../event.ts';

/** `data` is the schema of the event's data: exact for a reserved type, otherwise a suggestion. */
export type EventType = {
  readonly type: string;
  readonly category: string;
  readonly description: string;
  readonly reserved: boolean;
  readonly data: z.ZodType;
  readonly example: JsonObject;
};

type Definition = Omit<EventType, 'category'>;

/**
 * Defines a type that the service emits.
 * @param data the exact schema of the data
 * @param example data with all possible fields
 */
export function emitted<Data extends z.ZodType>(
  type: string,
  description: string,
  data: Data,
  example: z.input<Data> & JsonObject,
): Definition {
  return { type, description, reserved: true, data, example };
}

/** Defines a type that a tenant's systems publish. Its `fields` are a suggestion and are not checked. */
export function published<Fields extends z.ZodRawShape>(
  type: string,
  description: string,
  fields: Fields,
  example: { readonly [Name in keyof Fields]: z.input<Fields[Name]> } & JsonObject,
): Definition {
  return { type, description, reserved: false, data: z.looseObject(fields).partial(), example };
}

/** Adds the category to its entries. Source: Specification, "Event types". */
export function inCategory(category: string, definitions: readonly Definition[]): EventType[] {
  return definitions.map((definition) => ({ category, ...definition }));
}
